// SPDX-License-Identifier: Apache-2.0

import Encoder
import Foundation
import Logging
import Media
import Program
import Status
import Synchronization
import TestSupport
import Testing

@testable import Relay

@Suite("relay as a systemd service")
struct HostServiceTests {
    private let directory: TemporaryDirectory
    private let socket: NotifySocket
    private let clock = ManualClock(now: 1_000_000_000)
    private let log = CollectedLog(from: .notice)

    init() throws {
        directory = try TemporaryDirectory()
        socket = try NotifySocket(directory.path("notify"))
    }

    /// The channels' current state.
    private final class Channels: Sendable {
        let list = Mutex<[ServedChannel]>([])
    }

    private let channels = Channels()

    private func service() -> HostService {
        let environment = ["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "20000000"]
        return HostService(
            notifier: ServiceNotifier(environment: environment), directory: directory.path, queues: [],
            clock: clock, logger: log.logger
        ) { [channels] in channels.list.withLock { $0 } }
    }

    private func channel(_ name: String, frames: Int64?, wasTried: Bool = false, isOver: Bool = false) -> ServedChannel
    {
        var channel = ServedChannel(name: name, wasTried: wasTried, isOver: isOver)
        guard let frames else { return channel }
        channel.status = ChannelStatus(
            sources: [], feed: .init(), program: .init(), encoder: .init(), frameRate: FrameRate(25), outputs: [])
        channel.status?.program.frames = frames
        return channel
    }

    private func show(_ list: ServedChannel...) { channels.list.withLock { $0 = list } }

    /// Returns the sent messages except the status.
    private func words() -> [String] {
        socket.receive().flatMap { $0.split(separator: "\n").map(String.init) }.filter { !$0.hasPrefix("STATUS=") }
    }

    @Test("A service is ready when each channel is on air, has ended, or has failed and is being reopened")
    func ready() throws {
        let service = service()
        show(channel("one", frames: 0), channel("two", frames: nil))
        service.look()
        #expect(words() == ["WATCHDOG=1"])
        show(channel("one", frames: 1), channel("two", frames: nil))
        service.look()
        #expect(words().isEmpty)
        show(
            channel("one", frames: 2), channel("two", frames: nil, wasTried: true),
            channel("three", frames: 1, isOver: true))
        service.look()
        #expect(words() == ["READY=1"])
        service.look()
        #expect(words().isEmpty)
    }

    @Test("If a source, server or disk is absent, systemd is told READY=1 after at most 5 s")
    func absent() throws {
        let service = service()
        show(channel("one", frames: nil), channel("two", frames: 0))
        clock.advance(by: HostService.patience - .milliseconds(1))
        service.look()
        #expect(!words().contains("READY=1"))
        clock.advance(by: .milliseconds(1))
        service.look()
        #expect(words() == ["READY=1"])
    }

    @Test("A reload of a service that is ready is reported to systemd at its beginning and at its end")
    func reload() throws {
        let service = service()
        var count = 0
        service.reloading { count += 1 }
        show(channel("one", frames: 1))
        service.look()
        _ = words()
        service.reloading {
            count += 1
            #expect(words() == ["RELOADING=1", "MONOTONIC_USEC=1000000"])
        }
        #expect(words() == ["READY=1"])
        service.reloading {
            count += 1
            service.stopping()
        }
        #expect(words() == ["RELOADING=1", "MONOTONIC_USEC=1000000", "STOPPING=1"] && count == 3)
        service.end()
        #expect(words().isEmpty)
    }

    @Test("The service's status line has the number of channels on air, and is sent when this number changes")
    func status() throws {
        let service = service()
        show(channel("one", frames: 1), channel("two", frames: nil))
        for _ in 0..<2 { service.look() }
        show(channel("one", frames: 1), channel("two", frames: 1))
        for _ in 0..<2 { service.look() }
        let status = socket.receive().flatMap { $0.split(separator: "\n") }.filter { $0.hasPrefix("STATUS=") }
        #expect(status.first == "STATUS=1 of 2 channels on air")
        #expect(Set(status.dropFirst()) == ["STATUS=2 of 2 channels on air"])
    }

    @Test("While the threads of all channels send heartbeats, the watchdog is fed and the health file is updated")
    func watchdog() throws {
        let service = service()
        let heartbeat = Heartbeat("program", clock: clock)
        var one = channel("one", frames: 1)
        one.heartbeats = [heartbeat, Heartbeat("at rest", clock: clock)]
        show(one)
        heartbeat.beat()
        service.look()
        #expect(words() == ["READY=1", "WATCHDOG=1"])
        #expect(directory.files.contains("heartbeat"))
        try FileManager.default.removeItem(atPath: directory.path("heartbeat"))
        clock.advance(by: .seconds(10))
        service.look()
        #expect(words() == ["WATCHDOG=1"] && directory.files.contains("heartbeat"))
        try FileManager.default.removeItem(atPath: directory.path("heartbeat"))
        for _ in 0..<30 {
            clock.advance(by: .seconds(1))
            service.look()
        }
        #expect(words().isEmpty && !directory.files.contains("heartbeat"))
        #expect(
            log.lines
                == ["a media thread makes no progress: the watchdog is not fed any more channel=one thread=program"])
        heartbeat.rest()
        service.look()
        #expect(words() == ["WATCHDOG=1"] && log.lines.count == 2)
        service.end()
        #expect(!directory.files.contains("heartbeat"))
    }
}
