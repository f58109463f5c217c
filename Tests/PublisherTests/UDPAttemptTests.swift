// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FanOut
import Media
import Networking
import TestSupport
import Testing

@testable import Publisher

@Suite struct UDPAttemptTests {
    private let packets = PacketQueue(limits: .live, isFromStart: true)
    private let events = EventLog()

    private func attempt(port: UInt16, clock: any MonotonicClock = SystemClock()) throws -> UDPAttempt {
        UDPAttempt(
            url: try UDPURL("udp://127.0.0.1:\(port)"),
            context: AttemptContext(
                on: DispatchQueue(label: "test"), packets: packets,
                description: TransportStreamTests.description(FrameRate(30)), clock: clock,
                report: { [events] in events.note($0) }))
    }

    private func push(_ frames: Range<Int64>) {
        for index in frames {
            _ = packets.push(TransportStreamTests.frame(index, FrameRate(30), bytes: 5000, isKeyframe: index % 30 == 0))
        }
    }

    @Test("UDP datagrams have complete TS packets, and the complete program is sent before the end is reported")
    func sends() throws {
        let receiver = try LoopbackSocket()
        let attempt = try attempt(port: receiver.port)
        attempt.start()
        try eventually { events.isAccepted }
        _ = packets.connected()
        push(0..<5)
        attempt.goLive()
        push(5..<10)
        attempt.wake()
        attempt.drain(until: .distantFuture, reason: .programOver)
        try eventually { events.isDrained }
        #expect(attempt.progress.frames == 10)
        var total = 0
        while let datagram = receiver.receive() {
            #expect(!datagram.isEmpty && datagram.count % 188 == 0 && datagram.count <= 1316)
            #expect(stride(from: 0, to: datagram.count, by: 188).allSatisfy { datagram[$0] == 0x47 })
            total += datagram.count
        }
        #expect(total == Int(attempt.progress.bytes))
    }

    @Test("An absent UDP receiver is reported once and counted, and the output stays on air")
    func away() throws {
        let attempt = try attempt(port: try LoopbackSocket.freePort())
        attempt.start()
        try eventually { events.isAccepted }
        _ = packets.connected()
        attempt.goLive()
        var index: Int64 = 0
        try eventually {
            push(index..<index + 1)
            index += 1
            attempt.wake()
            return (attempt.progress.details.value(of: .sendErrors) ?? 0) > 2
        }
        #expect(events.notices.count == 1 && events.failure == nil)
        attempt.abandon()
    }

    @Test("Frames of which a UDP output has not sent all datagrams wait, and count as dropped when the attempt ends")
    func rest() throws {
        let receiver = try LoopbackSocket()
        // The clock stands still, so only the first datagrams are due.
        let attempt = try attempt(port: receiver.port, clock: ManualClock())
        attempt.start()
        try eventually { events.isAccepted }
        _ = packets.connected()
        push(0..<3)
        attempt.goLive()
        attempt.executor.queue.sync {}
        #expect(attempt.progress.bytes > 0 && attempt.progress.frames == 0)
        #expect(attempt.progress.waitingFrames == 3 && attempt.progress.drops.packets == 0)
        attempt.abandon()
        attempt.executor.queue.sync {}
        #expect(attempt.progress.frames == 0 && attempt.progress.waitingFrames == 0)
        #expect(attempt.progress.drops.frames == 3 && attempt.progress.drops.causes == [.notConnected: 3])
    }

    @Test("The number of a UDP output's notices is limited per minute of the attempt's own clock")
    func clock() throws {
        let clock = ManualClock()
        let attempt: any EndingAttempt = try attempt(port: 9, clock: clock)
        for number in 0..<100 { attempt.report.tell(.notice("notice \(number)")) }
        #expect(events.notices.count == NoticeLimit.messages + 1)
        clock.advance(by: .seconds(61))
        attempt.report.tell(.notice("later"))
        #expect(events.notices.last == "later")
    }

    @Test("A UDP output that was abandoned reports no event")
    func abandoned() throws {
        let receiver = try LoopbackSocket()
        let attempt = try attempt(port: receiver.port)
        attempt.abandon()
        attempt.start()
        attempt.drain(until: .distantFuture, reason: .programOver)
        attempt.executor.queue.sync {}
        #expect(events.all.isEmpty)
    }
}
