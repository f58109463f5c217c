// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FanOut
import Media
import SRT
import TestSupport
import Testing

@testable import Publisher

/// Tests attempts that call and attempts that listen, as peers of each other on the loopback interface.
@Suite(.serialized) struct SRTAttemptTests {
    private struct Listener {
        let packets = PacketQueue(limits: .live, isFromStart: true)
        let events = EventLog()
        let attempt: SRTListenAttempt

        init(_ address: String) throws {
            attempt = SRTListenAttempt(
                url: try SRTURL(address),
                context: AttemptContext(
                    on: DispatchQueue(label: "listener"), packets: packets,
                    description: TransportStreamTests.description(FrameRate(30)),
                    report: { [events] in events.note($0) }))
        }
    }

    private struct Caller {
        let packets = PacketQueue(limits: .live, isFromStart: true)
        let events = EventLog()
        let attempt: SRTCallAttempt

        init(_ address: String) throws {
            attempt = SRTCallAttempt(
                url: try SRTURL(address),
                context: AttemptContext(
                    on: DispatchQueue(label: "caller"), packets: packets,
                    description: TransportStreamTests.description(FrameRate(30)),
                    report: { [events] in events.note($0) }))
        }

        func goLive() {
            _ = packets.connected()
            attempt.goLive()
        }
    }

    private func push(_ frames: Range<Int64>, to packets: PacketQueue, bytes: Int = 3000) {
        for index in frames {
            let isKeyframe = index % 30 == 0
            _ = packets.push(TransportStreamTests.frame(index, FrameRate(30), bytes: bytes, isKeyframe: isKeyframe))
        }
    }

    /// Returns a listener with `options` at its own port, once it listens, and a caller with `callerOptions`.
    private func pair(
        _ options: String, calling callerOptions: String, line: Int = #line
    ) throws -> (listener: Listener, caller: Caller) {
        let port = try LoopbackSocket.freePort()
        let listener = try Listener("srt://127.0.0.1:\(port)?mode=listener&\(options)")
        listener.attempt.start()
        try eventually(line: line) {
            listener.events.count { if case .step("listening") = $0 { true } else { false } } == 1
        }
        return (listener, try Caller("srt://127.0.0.1:\(port)?\(callerOptions)"))
    }

    /// Returns a listener with `options` that is on air, because it was called.
    private func livePair(_ options: String, line: Int = #line) throws -> (listener: Listener, caller: Caller) {
        let (listener, caller) = try pair(options, calling: "latency=50", line: line)
        caller.attempt.start()
        try eventually(line: line) { listener.events.isAccepted && caller.events.isAccepted }
        _ = listener.packets.connected()
        listener.attempt.goLive()
        return (listener, caller)
    }

    @Test("An SRT listener goes on air with its first caller, and each caller gets every frame from a keyframe on")
    func listens() throws {
        let (listener, caller) = try livePair("latency=50")
        push(0..<15, to: listener.packets)
        listener.attempt.wake()
        try eventually { listener.attempt.progress.frames == 15 }
        let callers = listener.attempt.progress.details.receivers
        #expect(callers?.kind == .callers && callers?.count == 1 && callers?.total == 1)
        #expect(listener.events.waits == 1 && caller.events.waits == 0)
        try eventually { (listener.attempt.progress.details.srt?.totals.packetsSent ?? 0) > 0 }
        caller.attempt.abandon()
        try eventually { listener.attempt.progress.details.receivers?.count == 0 }
        try eventually("it waits for the next caller") { listener.events.waits == 2 }
        // The frames that were sent to the caller that left stay counted.
        #expect(listener.attempt.progress.frames == 15)
        listener.attempt.drain(until: .distantFuture, reason: .programOver)
        try eventually { listener.events.isDrained }
    }

    @Test("A new SRT listener accepts callers at the port of an old one whose callers still get the rest of the stream")
    func handsOver() throws {
        let port = try LoopbackSocket.freePort()
        let address = "srt://127.0.0.1:\(port)?mode=listener&latency=50&maxbw=60000&sndbuf=100000"
        let (old, next) = (try Listener(address), try Listener(address))
        let caller = try Caller("srt://127.0.0.1:\(port)?latency=50")
        old.attempt.start()
        try eventually { old.events.waits == 1 }
        caller.attempt.start()
        try eventually { old.events.isAccepted && caller.events.isAccepted }
        _ = old.packets.connected()
        old.attempt.goLive()
        push(0..<1, to: old.packets)
        old.attempt.wake()
        try eventually { old.attempt.progress.frames == 1 }
        // A megabyte at 60 kB per second keeps the old connection open.
        push(1..<20, to: old.packets, bytes: 50_000)
        old.attempt.drain(until: .distantFuture, reason: .interrupted)
        try eventually("the port is free") {
            old.events.count { if case .stoppedListening = $0 { true } else { false } } == 1
        }
        #expect(!old.events.isDrained)
        next.attempt.start()
        try eventually { next.events.waits == 1 }
        let second = try Caller("srt://127.0.0.1:\(port)?latency=50")
        second.attempt.start()
        try eventually { next.events.isAccepted && second.events.isAccepted }
        #expect(next.events.failure == nil && !old.events.isDrained)
        #expect(old.attempt.progress.details.receivers?.count == 1)
        for attempt in [caller.attempt, second.attempt] { attempt.abandon() }
        for attempt in [old.attempt, next.attempt] { attempt.abandon() }
    }

    @Test("Frames that an SRT receiver had not received when it left count as dropped, in the totals and in the log")
    func leaves() throws {
        let (listener, caller) = try livePair("latency=50&maxbw=60000&sndbuf=100000")
        push(0..<1, to: listener.packets)
        listener.attempt.wake()
        try eventually { listener.attempt.progress.frames == 1 }
        // The library accepts 100 kB of this megabyte at once, and then 60 kB per second. So most frames still wait when
        // the receiver leaves.
        push(1..<20, to: listener.packets, bytes: 50_000)
        listener.attempt.wake()
        try eventually("each frame is sent or waits") {
            let progress = listener.attempt.progress
            return Int(progress.frames) + progress.waitingFrames == 20 && progress.waitingFrames > 0
        }
        caller.attempt.abandon()
        try eventually { listener.attempt.progress.details.receivers?.count == 0 }
        let progress = listener.attempt.progress
        #expect(progress.frames < 20)
        #expect(Int(progress.frames) + progress.drops.frames == 20)
        let rest = progress.drops.causes[.notConnected, default: 0]
        #expect(rest > 0)
        try eventually {
            listener.events.notices.contains { $0.contains("left (") && $0.contains("\(rest) packets") }
        }
        listener.attempt.abandon()
    }

    @Test("An SRT caller sends the queued packets, and reports its end only after the receiver has them")
    func calls() throws {
        let (listener, caller) = try pair("latency=50", calling: "latency=50")
        push(0..<30, to: caller.packets)
        caller.attempt.start()
        try eventually { caller.events.isAccepted }
        caller.goLive()
        caller.attempt.drain(until: .distantFuture, reason: .programOver)
        try eventually { caller.events.isDrained }
        #expect(caller.attempt.progress.frames == 30)
        #expect(caller.attempt.progress.details.srt?.totals.packetsDropped == 0)
        listener.attempt.abandon()
    }

    @Test("An SRT caller with another stream ID is refused, and both sides report the code of the refusal")
    func sentAway() throws {
        let (listener, caller) = try pair("streamid=studio", calling: "streamid=kitchen")
        caller.attempt.start()
        try eventually { caller.events.failure != nil }
        #expect(caller.events.failure?.kind == .rejected)
        #expect(caller.events.failure?.reason.contains("1404") == true)
        #expect(caller.events.failure?.reason.contains("kitchen") == false)
        try eventually { listener.events.notices.contains { $0.contains("1404") } }
        #expect(listener.attempt.progress.details.receivers?.refused == 1)
        #expect(!listener.events.isAccepted)
        listener.attempt.drain(until: .distantFuture, reason: .programOver)
        try eventually { listener.events.isDrained }
    }

    @Test("An SRT receiver with another passphrase causes a permanent failure, which does not show the passphrase")
    func passphrase() throws {
        let (listener, caller) = try pair("passphrase=0123456789", calling: "passphrase=9876543210")
        caller.attempt.start()
        try eventually { caller.events.failure != nil }
        #expect(caller.events.failure?.kind == .refused)
        #expect(caller.events.failure?.reason.contains("9876543210") == false)
        listener.attempt.abandon()
    }
}
