// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FanOut
import Glibc
import Media
import Networking
import SRT
import TestSupport
import Testing

@testable import Publisher

/// Tests one connection and its data; the other end uses libsrt directly.
@Suite("SRT session", .serialized)
struct SRTSessionTests {
    private static let description = TransportStreamTests.description(FrameRate(30))

    /// A session over a connected socket, with its packets and its reports.
    private struct Sender {
        let packets = PacketQueue(limits: .live, isFromStart: true)
        let events = EventLog()
        let session: SRTSession

        init(_ call: Call) throws {
            session = try SRTSession(
                socket: call.socket, url: call.url, packets: packets, description: description,
                executor: QueueExecutor(DispatchQueue(label: "relay.srt.test")),
                onNotice: { [events] in events.note($0) },
                onEnd: { [events] ending in
                    switch ending {
                    case .failed(let failure): events.note(.failed(failure))
                    case .drained: events.note(.drained)
                    }
                })
        }

        /// Queues frames with a keyframe each second.
        func push(_ frames: Range<Int64>) {
            for index in frames {
                packets.push(TransportStreamTests.frame(index, FrameRate(30), bytes: 3000, isKeyframe: index % 30 == 0))
            }
            session.wake()
        }

        func start() {
            _ = packets.connected()
            session.post { $0.start() }
        }

        func drain() { session.post { $0.drain() } }

        var phase: SRTSession.Phase {
            session.executor.queue.sync { session.assumeIsolated { $0.phase } }
        }

        /// Blocks until the session's queue has run all work that was posted to it, and the work posted by that.
        func collect() { for _ in 0..<2 { session.executor.queue.sync {} } }
    }

    /// A call that lasts until it is answered or 60 s have passed.
    private struct Call {
        let url: SRTURL
        let socket: SRTSocket

        init(_ port: UInt16, _ options: String = "latency=50") throws {
            url = try SRTURL("srt://127.0.0.1:\(port)?connect_timeout=60000&\(options)")
            socket = try SRTSocket(options: url, bandwidth: SRTBandwidth(description, url: url))
            try socket.connect(to: try #require(HostAddress(literal: "127.0.0.1", port: port)), url: url)
        }
    }

    private func connect(to peer: SRTPeer, _ options: String = "latency=50", line: Int = #line) throws -> Sender {
        let call = try Call(peer.port, options)
        try eventually("a connection", line: line) { call.socket.condition == .connected && peer.isCalled }
        return try Sender(call)
    }

    /// Returns the number of frames in a transport stream without a gap; nil if it has a gap.
    private func frames(_ bytes: [UInt8]) -> Int? {
        let reader = TransportStreamReader(bytes)
        guard reader.continuityErrors == 0, reader.packets.count * 188 == bytes.count else { return nil }
        return reader.packets.count { $0.pid == 0x100 && $0.beginsUnit }
    }

    // MARK: Calls

    @Test("Packets queued before and after an SRT receiver answered arrive before the session reports its end")
    func whole() throws {
        let peer = try SRTPeer()
        let sender = try connect(to: peer)
        sender.push(0..<30)
        sender.collect()
        #expect(sender.session.progress.bytes == 0, "nothing is sent before the session may")
        sender.start()
        try eventually { sender.session.progress.frames == 30 }
        sender.push(30..<45)
        sender.drain()
        try eventually {
            let isDrained = sender.events.isDrained
            // The received bytes must be read at least once after that.
            _ = peer.received
            return isDrained
        }
        #expect(frames(peer.received) == 45)
        #expect(TransportStreamReader(peer.received).randomAccessPoints.count == 2)
        #expect(sender.session.progress.frames == 45)
        #expect(Int(sender.session.progress.bytes) == peer.received.count)
        #expect(sender.events.all.count == 1)
    }

    @Test("If an SRT receiver starts to listen after the call began, the same call reaches it")
    func latePeer() throws {
        var silent: LoopbackSocket? = try LoopbackSocket()
        let port = try #require(silent).port
        let call = try Call(port)
        // The first handshake was sent to a peer that does not answer.
        try eventually { silent?.receive() != nil }
        #expect(call.socket.condition == .pending)
        silent = nil
        let peer = try SRTPeer(port: port)
        try eventually { call.socket.condition == .connected && peer.isCalled }
        let sender = try Sender(call)
        sender.push(0..<10)
        sender.start()
        try eventually { frames(peer.received) == 10 }
        sender.session.post { $0.abandon() }
    }

    @Test(
        "The reason that an SRT receiver gives for a refusal is reported, and some reasons are permanent",
        arguments: [(1401, "refused"), (1403, "refused"), (1402, "rejected"), (1404, "rejected"), (1500, "rejected")])
    func refusal(code: Int, kind: String) throws {
        let peer = try SRTPeer(rejection: code)
        let call = try Call(peer.port)
        try eventually { call.socket.condition == .broken }
        let rejection = call.socket.rejection(of: call.url)
        #expect("\(rejection.kind)" == kind)
        #expect(rejection.reason.contains("code \(code)"))
        #expect(!peer.isCalled)
    }

    @Test("A wrong SRT passphrase is a permanent failure, and no passphrase is shown")
    func wrongPassphrase() throws {
        let peer = try SRTPeer(passphrase: "correct-horse")
        let call = try Call(peer.port, "passphrase=wrong-battery")
        try eventually { call.socket.condition == .broken }
        let rejection = call.socket.rejection(of: call.url)
        #expect(rejection.kind == .refused)
        #expect(!rejection.reason.contains("battery") && !rejection.reason.contains("horse"))
        #expect(!peer.isCalled)
    }

    @Test("With the right SRT passphrase all frames arrive and are decrypted")
    func rightPassphrase() throws {
        let peer = try SRTPeer(passphrase: "correct-horse")
        let sender = try connect(to: peer, "passphrase=correct-horse&pbkeylen=32&latency=50")
        sender.push(0..<10)
        sender.start()
        try eventually { frames(peer.received) == 10 }
        sender.session.post { $0.abandon() }
    }

    // MARK: Ends

    @Test("If an SRT receiver closes while frames are sent, this is reported once, and the totals are kept")
    func closedInMidSend() throws {
        let peer = try SRTPeer(passphrase: "correct-horse")
        let sender = try connect(to: peer, "passphrase=correct-horse&latency=50")
        sender.start()
        var next: Int64 = 0
        func pushOne() {
            sender.push(next..<next + 1)
            next += 1
        }
        try eventually {
            pushOne()
            return !peer.received.isEmpty
        }
        peer.hangUp()
        try eventually {
            pushOne()
            return sender.events.failure != nil
        }
        let (failure, progress) = (try #require(sender.events.failure), sender.session.progress)
        #expect(failure.kind == .lost && failure.step == "send")
        #expect(!failure.reason.contains("horse"))
        #expect(progress.frames > 0 && progress.frames < UInt64(next))
        for _ in 0..<30 { pushOne() }
        sender.drain()
        sender.collect()
        #expect(sender.session.progress == progress)
        #expect(sender.events.all.count == 1)
    }

    @Test("An abandoned SRT session closes its connection, sends no more data, and reports no event")
    func abandoned() throws {
        let peer = try SRTPeer()
        let sender = try connect(to: peer)
        sender.push(0..<10)
        sender.start()
        try eventually { frames(peer.received) == 10 }
        sender.session.post { $0.abandon() }
        try eventually { peer.isClosed }
        sender.push(10..<20)
        sender.drain()
        sender.collect()
        #expect(frames(peer.received) == 10 && sender.session.progress.frames == 10)
        #expect(sender.events.all.isEmpty)
    }

    @Test("A receiver that plays late because the SRT handshake was delayed still gets the program's end")
    func lateReceiver() throws {
        let peer = try SRTPeer(latency: 100)
        let path = try CutPath(to: peer.port)
        path.pass(.late)
        let call = try Call(path.port, "latency=100")
        try eventually("a connection") { call.socket.condition == .connected && peer.isCalled }
        path.pass(.both)
        let rounds = path.rounds
        try eventually("the path carries nothing late any more") { path.rounds > rounds + 1 }
        let sender = try Sender(call)
        sender.start()
        sender.push(0..<20)
        sender.drain()
        try eventually("the end") {
            _ = peer.received
            return sender.events.isDrained
        }
        #expect(frames(peer.received) == 20)
    }

    @Test("If an SRT receiver closes before it has acknowledged the program's end, the missing frames count as lost")
    func unacknowledgedEnd() throws {
        let peer = try SRTPeer(latency: 50)
        let path = try CutPath(to: peer.port)
        let call = try Call(path.port)
        try eventually("a connection") { call.socket.condition == .connected && peer.isCalled }
        let sender = try Sender(call)
        sender.start()
        sender.push(0..<10)
        try eventually { self.frames(peer.received) == 10 }
        path.pass(.answersOnly)
        sender.push(10..<15)
        sender.drain()
        try eventually("all frames are passed to libsrt") { sender.phase == .lingering }
        peer.hangUp()
        try eventually("the end") { sender.events.failure != nil || sender.events.isDrained }
        let progress = sender.session.progress
        #expect(progress.frames == 10 && progress.drops.frames == 5 && progress.waitingFrames == 0)
        let failure = try #require(sender.events.failure)
        #expect(failure.kind == .lost && failure.reason.contains("before it acknowledged the last 5 frames"))
    }

    @Test("Frames that libsrt drops at the program's end, because they are too late, count as lost and not as sent")
    func droppedEnd() throws {
        let peer = try SRTPeer(latency: 600)
        let path = try CutPath(to: peer.port)
        let call = try Call(path.port, "latency=600&snddropdelay=0")
        try eventually("a connection") { call.socket.condition == .connected && peer.isCalled }
        let sender = try Sender(call)
        sender.start()
        sender.push(0..<10)
        try eventually { self.frames(peer.received) == 10 && sender.session.progress.frames == 10 }
        path.pass(.answersOnly)
        sender.push(10..<15)
        sender.drain()
        try eventually("the end") { sender.events.isDrained }
        let progress = sender.session.progress
        #expect(progress.details.srt?.totals.packetsDropped ?? 0 > 0)
        #expect(progress.frames == 10 && progress.drops.frames == 5 && progress.waitingFrames == 0)
        #expect(sender.events.notices.contains { $0.contains("before it acknowledged the last 5 frames") })
    }

    // MARK: Outages

    @Test(
        "After any network outage the SRT receiver gets frames again on the same connection",
        arguments: [(200, 15), (200, 40), (1000, 120), (200, 120)])
    func outage(latency: CInt, frames count: Int64) throws {
        let peer = try SRTPeer(latency: latency)
        let path = try CutPath(to: peer.port)
        let call = try Call(path.port, "latency=\(latency)")
        try eventually("a connection") { call.socket.condition == .connected && peer.isCalled }
        let sender = try Sender(call)
        sender.start()
        var next: Int64 = 0
        /// Pushes a frame every 10 ms until `isDone`; every 30th frame is a keyframe.
        func play(_ what: String, until isDone: () -> Bool) throws {
            try eventually(what) {
                sender.push(next..<next + 1)
                next += 1
                usleep(10_000)
                return isDone()
            }
        }
        try play("the beginning arrives") { peer.received.count > 60_000 }
        path.pass(.none)
        let cut = next
        try play("the network is gone") { next == cut + count }
        path.pass(.both)
        let before = peer.received.count
        try play("frames arrive again") { peer.received.count > before + 60_000 }
        sender.drain()
        try eventually("the end") {
            _ = peer.received
            return sender.events.isDrained
        }
        // There is no gap: lost packets were sent again, and only complete frames were dropped.
        #expect(self.frames(peer.received) == Int(sender.session.progress.frames))
        #expect(sender.events.failure == nil)
    }

    @Test("If a source's last frame before a pause is lost, SRT sends it again")
    func lostTail() throws {
        let peer = try SRTPeer(latency: 100)
        let path = try CutPath(to: peer.port)
        let call = try Call(path.port, "latency=100")
        try eventually("a connection") { call.socket.condition == .connected && peer.isCalled }
        let sender = try Sender(call)
        sender.start()
        sender.push(0..<5)
        try eventually { self.frames(peer.received) == 5 }
        path.pass(.answersOnly)
        sender.push(5..<6)
        try eventually { path.lost > 0 }
        path.pass(.both)
        try eventually("the frame arrives although none follows") { self.frames(peer.received) == 6 }
        sender.session.post { $0.abandon() }
    }

    // MARK: Numbers

    @Test("An SRT session's statistics equal its receiver's, and the latency is the larger of both requests")
    func statistics() throws {
        let peer = try SRTPeer(latency: 300)
        let sender = try connect(to: peer, "latency=120")
        #expect(sender.session.progress.details.srt == SRTStatistics())
        sender.start()
        sender.push(0..<15)
        try eventually { frames(peer.received) == 15 }
        try eventually {
            let sent = sender.session.statistics.totals.packetsSentUnique
            return sent > 0 && sent == peer.uniquePackets
        }
        let statistics = sender.session.statistics
        let totals = statistics.totals
        #expect(totals.packetsSent == totals.packetsSentUnique + totals.packetsRetransmitted)
        #expect(totals.packetsDropped == 0)
        let moment = try #require(statistics.moment)
        #expect(moment.latencyMilliseconds == 300)
        #expect(moment.roundTripMilliseconds > 0 && moment.flowWindow > 0 && moment.sendBufferFreeBytes > 0)
        #expect(try #require(moment.inputBandwidth) > 2)
        #expect(sender.session.progress.details.srt == sender.session.statistics)
        sender.session.post { $0.abandon() }
    }
}
