// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FanOut
import Glibc
import Media
import PacketSamples
import TestSupport
import Testing

@testable import Networking
@testable import Publisher
@testable import RTMP

/// Tests players that pull a program, each at the other end of a socket pair.
@Suite struct RTMPListenTests {
    private final class Player: SocketPeer {
        /// The presentation times of the frames, in milliseconds since the player's first frame.
        var frames: [Int64] {
            messages.filter { $0.type == 9 && $0.body.count > 5 && $0.body[1] == 1 }.map { Int64($0.timestamp) }
        }

        func reads(line: Int = #line, until isMeant: (Player) -> Bool) throws {
            try eventually(line: line) {
                try read()
                return isMeant(self)
            }
        }

        func say(_ command: String, _ argument: AMF0Value) {
            var writer = AMF0Writer()
            writer.write(command)
            writer.write(0)
            writer.writeNull()
            switch argument {
            case .boolean(let value): writer.write(value)
            case .number(let value): writer.write(value)
            default: writer.writeNull()
            }
            say(20, writer.bytes)
        }
    }

    private let stream = PacketStream()
    private let events = EventLog()
    private let packets = PacketQueue(limits: .live, isFromStart: true, awaitsCallers: true)
    private let offer: RTMPOffer
    private let attempt: RTMPListenAttempt

    init() throws {
        var url = try RTMPListenURL("rtmp-listen://127.0.0.1/live/program", for: .output)
        url.port = 0
        offer = try RTMPOffer(url, server: RTMPServer())
        attempt = RTMPListenAttempt(
            offer: offer, pool: RTMPWriterPool(), stream: stream,
            context: AttemptContext(
                on: DispatchQueue(label: "players"), packets: packets, description: Samples.description,
                report: { [events] in events.note($0) }))
        stream.begin(Samples.description, keyframes: NoKeyframes())
    }

    /// Returns a closure that makes offers of `server`, all of them at one port that was free.
    private func offers(_ server: RTMPServer) throws -> (String, Set<String>) throws -> RTMPOffer {
        var url = try RTMPListenURL("rtmp-listen://127.0.0.1/live/first", for: .output)
        url.port = 0
        let first = try server.offer(url, host: offer.door)
        let port = first.port
        first.cancel()
        return { text, leaving in
            var url = try RTMPListenURL("rtmp-listen://\(text)", for: .output)
            url.port = port
            let marked = Set(leaving.map { $0.replacing("PORT", with: "\(port)") })
            return try RTMPOffer(url, server: server, leaving: marked)
        }
    }

    @Test("An RTMP output at another local address of the same port opens the port when its predecessor has left")
    func movesToAnotherAddress() throws {
        let server = RTMPServer()
        let make = try offers(server)
        let old = try make("127.0.0.1/live/program", [])
        let address = "rtmp-listen://127.0.0.1:PORT/live/program"
        #expect(throws: OutputFailure.self) { _ = try make("0.0.0.0/live/program", []) }
        let next = try make("0.0.0.0/live/program", [address])
        #expect(server.status.listeners.map(\.address).allSatisfy { $0.hasPrefix("127.0.0.1:") })
        #expect(throws: OutputFailure.self) { try next.open() }
        old.close()
        try next.open()
        #expect(server.status.listeners.map(\.address).map { $0.hasPrefix("0.0.0.0:") } == [true])
        next.close()
        try next.open()
        #expect(server.status.listeners.isEmpty, "a closed offer opens nothing")
    }

    @Test("An RTMP output cannot move to another local address of its port while a second stream uses the port")
    func sharedPortStays() throws {
        let server = RTMPServer()
        let make = try offers(server)
        let old = try make("127.0.0.1/live/program", [])
        let other = try make("127.0.0.1/live/other", [])
        let address = "rtmp-listen://127.0.0.1:PORT/live/program"
        #expect(throws: OutputFailure.self) { _ = try make("0.0.0.0/live/program", [address]) }
        for offer in [old, other] { offer.close() }
    }

    private struct NoKeyframes: KeyframeRequester {
        func requestKeyframe(at programTime: ProgramInstant?) {}
    }

    private func publish(_ frames: Range<Int64>, bytes: Int = 1000, gop: Int64 = 30) {
        for index in frames {
            stream.publish(Samples.video(pts: index, dts: index, isKeyframe: index % gop == 0, bytes: bytes))
        }
    }

    private func begin() throws {
        attempt.start()
        try eventually { events.count { if case .step("listening") = $0 { true } else { false } } == 1 }
    }

    private func join(capabilities: RTMPCapabilities = RTMPCapabilities()) throws -> Player {
        var ends: [CInt] = [0, 0]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        var size: CInt = 16 << 10
        setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        let request = RTMPStreamRequest(
            .play, app: "live", name: "program", client: "test", capabilities: capabilities)
        let handover = RTMPSession.Handover(
            streamID: 1, parser: RTMPInboundParser(), unread: [], receivedBytes: 0)
        offer.door.joined(
            RTMPPlayer(
                request: request, address: "192.0.2.1", socket: TCPSocket(owning: ends[0]), handover: handover,
                release: {}))
        return Player(ends[1])
    }

    private func players(_ count: Int, line: Int = #line) throws {
        try eventually(line: line) { attempt.progress.details.receivers?.count == count }
    }

    @Test("An RTMP player gets the headers, the current GOP and each frame once, and is told of the end")
    func life() throws {
        publish(0..<45)
        try begin()
        #expect(events.waits == 1 && !events.isAccepted)
        let first = try join()
        try first.reads { $0.frames.count == 15 }
        #expect(first.messages.prefix(3).map(\.type) == [18, 9, 8])
        #expect(AMF0Reader.values(first.messages[0].body).first == .string("onMetaData"))
        #expect(first.messages[3].body[0] == 0x17)
        try eventually { events.isAccepted }
        attempt.goLive()
        publish(45..<50)
        let late = try join()
        try late.reads { $0.frames.count == 20 }
        publish(50..<70)
        try first.reads { $0.frames.count == 40 }
        try late.reads { $0.frames.count == 40 }
        for player in [first, late] {
            #expect(player.frames.first == 0 && zip(player.frames, player.frames.dropFirst()).allSatisfy { $0 < $1 })
        }
        attempt.drain(until: .distantFuture, reason: .programOver)
        try first.reads { $0.messages.last?.type == 20 }
        let codes = first.messages.suffix(2).map { AMF0Reader.values($0.body).last?.text("code") }
        #expect(codes == ["NetStream.Play.UnpublishNotify", "NetStream.Play.Stop"])
        for player in [first, late] { shutdown(player.descriptor, CInt(SHUT_RDWR)) }
        try eventually { events.isDrained }
        #expect(attempt.progress.frames == 80 && attempt.progress.drops.packets == 0)
    }

    @Test("Frames that still wait for a player when it leaves count as dropped")
    func leaves() throws {
        publish(0..<1)
        try begin()
        let player = try join()
        try players(1)
        attempt.goLive()
        // The player reads nothing, so its socket is full soon, and the rest waits.
        publish(1..<20, bytes: 20_000)
        try eventually { attempt.progress.details.receivers?.queueMilliseconds ?? 0 > 0 }
        shutdown(player.descriptor, CInt(SHUT_RDWR))
        try players(0)
        let progress = attempt.progress
        #expect(progress.drops.frames > 0 && Int(progress.frames) + progress.drops.frames == 20)
    }

    @Test("If an RTMP player does not read, its lost frames are counted, and other players lose no frame")
    func slow() throws {
        publish(0..<1)
        try begin()
        let (slow, quick) = (try join(), try join())
        try players(2)
        attempt.goLive()
        for start in stride(from: Int64(1), to: 300, by: 10) {
            publish(start..<min(300, start + 10), bytes: 20_000)
            try quick.reads { $0.frames.count == min(300, Int(start) + 10) }
        }
        #expect(attempt.progress.drops.frames > 100)
        #expect(attempt.progress.details.receivers?.queueMilliseconds ?? 0 <= 4000)
        try eventually { events.notices.contains { $0.hasPrefix("player 1 takes less") } }
        #expect(!events.notices.contains { $0.hasPrefix("player 2 takes") })
        // When the player reads again, it gets the queued packets in order.
        publish(300..<301, bytes: 1000)
        try slow.reads { $0.frames.last == 10_000 }
        #expect(zip(slow.frames, slow.frames.dropFirst()).allSatisfy { $0 < $1 } && slow.frames.count < 200)
    }

    @Test("After an outage RTMP players that read again ask for a keyframe until it comes, all of them together")
    func outage() throws {
        func needs() -> Int { events.count { if case .needsKeyframe = $0 { true } else { false } } }
        publish(0..<1)
        try begin()
        let both = [try join(), try join()]
        for player in both { try player.reads { $0.frames.count == 1 } }
        attempt.goLive()
        // The players read nothing for 5 s. Their sockets are full soon, and after that their queues.
        publish(1..<150, bytes: 20_000, gop: 10_000)
        var next: Int64 = 150
        try eventually {
            publish(next..<next + 1, gop: 10_000)
            next += 1
            attempt.wake()
            for player in both { try player.read() }
            return needs() > 1
        }
        // Each frame causes at most one report.
        #expect(needs() <= Int(next) - 150)
        publish(next..<next + 1, gop: 1)
        attempt.wake()
        for player in both { try player.reads { $0.frames.last ?? 0 >= 5000 } }
        try eventually { events.count { if case .wantsNoKeyframe = $0 { true } else { false } } > 0 }
    }

    @Test("If half of a hundred RTMP players stop reading, the others get every frame, and memory stays bounded")
    func crowd() throws {
        publish(0..<1, bytes: 4000)
        try begin()
        let readers = try (0..<50).map { _ in try join() }
        let sleepers = try (0..<50).map { _ in try join() }
        try players(100)
        attempt.goLive()
        struct Sent { weak var payload: SharedBytes? }
        var sent: [Sent] = []
        for start in stride(from: Int64(1), to: 300, by: 10) {
            for index in start..<min(300, start + 10) {
                let packet = Samples.video(pts: index, dts: index, isKeyframe: index % 30 == 0, bytes: 4000)
                sent.append(Sent(payload: packet.payload))
                stream.publish(packet)
            }
            for reader in readers { try reader.reads { $0.frames.count == min(300, Int(start) + 10) } }
        }
        for reader in readers {
            #expect(zip(reader.frames, reader.frames.dropFirst()).allSatisfy { $0 < $1 })
        }
        // The packets in memory are those of 3 s of queue, of the current GOP, and at the beginning in 50 small
        // sockets.
        let held = sent.count { $0.payload != nil }
        #expect(held < 150, "\(held)")
        #expect(attempt.progress.drops.frames > 50 * 50)
        withExtendedLifetime(sleepers) {}
    }

    @Test(
        "A player gets a complete GOP that exceeds the queue's limits, and after that frames are dropped")
    func longGOP() throws {
        publish(0..<300, bytes: 3000, gop: 1000)
        try begin()
        let player = try join()
        try player.reads { $0.frames.count == 300 }
        // Half a second is published at a time: if more is published at once, frames may be refused before the writer
        // runs.
        publish(300..<315, gop: 1000)
        try player.reads { $0.frames.count == 315 }
        #expect(attempt.progress.drops.packets == 0)
    }

    @Test(
        "An RTMP player without HEVC support is refused with a logged reason; one with HEVC support plays"
    )
    func codecs() throws {
        let hevc = TrackDescription(
            video: .hevc, frames: VideoFormat(width: 320, height: 180, frameRate: FrameRate(30)).frameFormat,
            timeBase: FrameRate(30).timeBase, decoderConfiguration: SharedBytes([1, 2, 3, 4]))
        stream.begin(StreamDescription(video: hevc, audio: nil), keyframes: NoKeyframes())
        stream.publish(Samples.video(pts: 0, dts: 0, isKeyframe: true).recoded(as: hevc))
        try begin()
        _ = try join()
        try eventually { events.notices.contains { $0.contains("HEVC cannot be carried by RTMP") } }
        #expect(attempt.progress.details.receivers?.refused == 1)
        let knowing = try join(
            capabilities: RTMPCapabilities(
                connect: .object(["fourCcList": .array([.string("hvc1")])])))
        try knowing.reads { $0.messages.count >= 3 }
        #expect(knowing.messages[1].body[0] & 0x80 != 0)
    }

    /// Sends a ping and blocks until it is answered.
    private func ping(_ player: Player, line: Int = #line) throws {
        let answers = player.messages.count { $0.body == [0, 7, 1, 2, 3, 4] }
        let ping: [UInt8] = [2, 0, 0, 0, 0, 0, 6, 4, 0, 0, 0, 0, 0, 6, 1, 2, 3, 4]
        #expect(send(player.descriptor, ping, ping.count, CInt(MSG_NOSIGNAL)) == ping.count)
        try player.reads(line: line) { $0.messages.count { $0.body == [0, 7, 1, 2, 3, 4] } == answers + 1 }
    }

    @Test("An RTMP player that pauses resumes at a keyframe, and a player that stops is disconnected")
    func wishes() throws {
        publish(0..<10)
        try begin()
        let player = try join()
        try player.reads { $0.frames.count == 10 }
        player.say("pause", .boolean(true))
        player.say("receiveAudio", .boolean(true))
        // All messages that were sent before an answered ping were read before it.
        try ping(player)
        // Half a second is published at a time, and then a ping is answered, which shows that the writer has run. If
        // more is published at once, frames may be refused before the writer runs.
        for start in stride(from: Int64(10), to: 40, by: 15) {
            publish(start..<start + 15)
            try ping(player)
        }
        player.say("pause", .boolean(false))
        try ping(player)
        for start in stride(from: Int64(40), to: 70, by: 15) {
            publish(start..<start + 15)
            try ping(player)
        }
        try player.reads { $0.frames.count == 20 }
        #expect(player.frames[10] == 2000)
        player.say("deleteStream", .number(1))
        try player.reads { $0.messages.last?.type == 20 }
        shutdown(player.descriptor, CInt(SHUT_RDWR))
        try players(0)
        #expect(attempt.progress.details.receivers?.total == 1)
    }

    @Test(
        "A player is refused while its stream is not offered, and pausing the output disconnects its players")
    func pauses() throws {
        let early = try join()
        var byte: UInt8 = 0
        try eventually { recv(early.descriptor, &byte, 1, CInt(MSG_DONTWAIT)) == 0 }
        publish(0..<10)
        try begin()
        let player = try join()
        try player.reads { $0.frames.count == 10 }
        attempt.abandon()
        try eventually {
            try? player.read()
            return recv(player.descriptor, &byte, 1, CInt(MSG_DONTWAIT)) == 0
        }
    }
}
