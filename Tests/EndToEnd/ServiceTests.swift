// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing

extension SerialShows {
    /// Messages that relay sends to a service manager.
    @Suite("Running as a systemd service")
    struct ServiceTests {
        private let directory: TemporaryDirectory
        private let manager: Manager

        init() throws {
            directory = try TemporaryDirectory()
            manager = Manager(try NotifySocket(directory.file("notify")))
        }

        /// A service manager that stores all messages that it gets.
        private final class Manager: Sendable {
            let socket: NotifySocket
            private let lines = Mutex<[String]>([])

            init(_ socket: NotifySocket) { self.socket = socket }

            /// All lines that the manager has got so far.
            var told: [String] {
                lines.withLock { lines in
                    lines += socket.receive().flatMap { $0.split(separator: "\n").map(String.init) }
                    return lines
                }
            }

            /// How often the manager has got this line.
            func count(_ line: String) -> Int { told.count { $0 == line } }

            /// Waits until the manager has got this line `number` times.
            func isTold(_ line: String, times number: Int = 1, within limit: Duration) async throws {
                try await eventually("\(line) was told \(number) times", within: limit) { self.count(line) >= number }
            }
        }

        private func write(_ text: String) throws {
            try text.write(toFile: directory.file("relay.yaml"), atomically: true, encoding: .utf8)
        }

        private static let pattern = """
              - name: one
                encoder: {size: 320x180, preset: ultrafast, videoBitrate: 1M, frameRate: 30}
            """

        /// Starts a relay that runs the configuration file, with a watchdog of `seconds`.
        private func start(watchdog seconds: Int = 4) throws -> RelayProcess {
            try RelayProcess(
                ["--config", directory.file("relay.yaml")],
                environment: [
                    "NOTIFY_SOCKET": manager.socket.name, "WATCHDOG_USEC": "\(seconds)000000",
                    "RUNTIME_DIRECTORY": directory.path,
                ])
        }

        @Test("relay reports to systemd when its channels run, when it reloads its configuration and when it ends")
        func life() async throws {
            let outputs = "    recording: {directory: \(directory.file("rec"))}\n"
            try write("channels:\n\(Self.pattern)\n\(outputs)")
            let relay = try start()
            try await manager.isTold("READY=1", within: .seconds(10))
            try await relay.says("segment opened", within: .seconds(5))
            try await eventually("people are told, too", within: .seconds(5)) {
                manager.told.contains("STATUS=1 of 1 channels on air, 1 recording")
            }
            try await manager.isTold("WATCHDOG=1", times: 3, within: .seconds(10))
            #expect(FileManager.default.fileExists(atPath: directory.file("heartbeat")))

            let other = try Ports.free()
            try write("channels:\n\(Self.pattern)\n    outputs: [\"udp://127.0.0.1:\(other)\"]\n\(outputs)")
            relay.process.signal(SIGHUP)
            try await manager.isTold("READY=1", times: 2, within: .seconds(10))
            let told = manager.told
            let reload = try #require(told.firstIndex(of: "RELOADING=1"))
            #expect(told[reload + 1].hasPrefix("MONOTONIC_USEC=") && told.lastIndex(of: "READY=1") ?? 0 > reload)

            let result = try await relay.end(by: SIGTERM, within: .seconds(10))
            #expect(result.ending == .exited(0) && manager.count("STOPPING=1") == 1, "\(result.log)")
            #expect(!FileManager.default.fileExists(atPath: directory.file("heartbeat")))
        }

        @Test("The systemd watchdog is not fed while the program's thread hangs, and is fed again afterwards")
        func wedge() async throws {
            try write("channels:\n\(Self.pattern)\n    recording: {directory: \(directory.file("rec"))}\n")
            let relay = try start()
            try await manager.isTold("READY=1", within: .seconds(10))
            try await manager.isTold("WATCHDOG=1", times: 2, within: .seconds(10))
            let thread = try await StoppedThread("relay.one", of: relay.process)
            try await relay.says("a media thread makes no progress", within: .seconds(10))
            let fed = manager.count("WATCHDOG=1")
            // A service manager waits no longer than this: now it would end the process.
            try await Task.sleep(for: .seconds(4))
            #expect(manager.count("WATCHDOG=1") == fed)
            try await thread.goOn()
            try await manager.isTold("WATCHDOG=1", times: fed + 2, within: .seconds(10))
            #expect(relay.process.errors.contains("every media thread makes progress again"))
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")
        }

        @Test("relay reports to systemd that it is ready and healthy even if cameras and servers are absent")
        func absent() async throws {
            let port = try Ports.free()
            try write(
                """
                channels:
                  - name: waits
                    copy: all
                    input: rtmp-listen://127.0.0.1:\(port)/live/key
                    outputs: ["udp://127.0.0.1:\(port)"]
                  - name: unreachable
                    input: http://127.0.0.1:\(port)/none.ts
                    outputs: ["udp://127.0.0.1:\(port)"]
                \(Self.pattern)
                    outputs: ["rtmp://127.0.0.1:\(port)/live/none"]
                """)
            let relay = try start(watchdog: 2)
            try await manager.isTold("READY=1", within: .seconds(15))
            try await relay.says("the channel is opened again", within: .seconds(10))
            let fed = manager.count("WATCHDOG=1")
            try await manager.isTold("WATCHDOG=1", times: fed + 6, within: .seconds(10))
            #expect(!relay.process.errors.contains("makes no progress"))
            let result = try await relay.end(by: SIGTERM, within: .seconds(10))
            #expect(manager.count("STOPPING=1") == 1, "\(result.log)")
        }

        @Test("In the journal each line has its priority, and each line about a channel has the channel's name")
        func journal() async throws {
            let relay = try RelayProcess(
                ["--input", "test:", "--record", directory.file("rec"), "--duration", "1s"] + Shape.small)
            #expect(try await relay.finished(within: .seconds(20)).log.hasPrefix("<") == false)
            // The device and inode of standard error are known only when the process runs, so a shell puts them into
            // the variable.
            let command = "JOURNAL_STREAM=$(stat -Lc %d:%i /proc/self/fd/2) exec \"$0\" \"$@\""
            let child = try ChildProcess(
                "bash",
                ["-c", command, try Tools.relay(), "--record", directory.file("rec2"), "--duration", "1s"]
                    + ["--log-format", "json"] + Shape.small)
            #expect(try await child.ending(within: .seconds(20)) == .exited(0), "\(child.errors)")
            let lines = child.errors.split(separator: "\n")
            #expect(lines.count > 2)
            for line in lines { #expect(line.hasPrefix("<6>{") && line.contains("\"channel\":\"relay\""), "\(line)") }
        }
    }
}
