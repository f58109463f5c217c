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

/// Tests a published stream over a socket pair whose other end is the server.
@Suite struct RTMPConnectionTests {
    private final class Server: SocketPeer {
        /// Reads until `isMeant` accepts the messages.
        func reads(line: Int = #line, until isMeant: ([RTMPInboundParser.Message]) -> Bool) throws {
            try eventually(line: line) {
                try? read()
                return isMeant(messages)
            }
        }

        func say(status code: String, level: String) {
            var writer = AMF0Writer()
            writer.write("onStatus")
            writer.write(0)
            writer.writeNull()
            writer.writeObject([("level", .string(level)), ("code", .string(code))])
            say(20, writer.bytes)
        }

        func count(_ type: UInt8) -> Int { messages.count { $0.type == type } }
    }

    private let packets = PacketQueue(limits: .live, isFromStart: true)
    private let writer = RTMPWriter(index: 0)
    private let events = EventLog()

    private func connect() throws -> (RTMPConnection, Server) {
        var ends: [CInt] = [0, 0]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        var size: CInt = 16 << 10
        setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        let handover = RTMPSession.Handover(
            streamID: 1, parser: RTMPInboundParser(), unread: [], receivedBytes: 0)
        let connection = RTMPConnection(
            to: .server(try RTMPURL("rtmp://h/live/abcdef")), socket: TCPSocket(owning: ends[0]), handover: handover,
            writer: writer, packets: packets, description: Samples.description,
            report: AttemptReport { [events] in events.note($0) })
        return (connection, Server(ends[1]))
    }

    private func push(_ frames: Range<Int64>, bytes: Int = 1000, as track: TrackDescription? = nil) {
        for index in frames {
            let frame = Samples.video(pts: index, dts: index, isKeyframe: index % 30 == 0, bytes: bytes)
            _ = packets.push(track.map(frame.recoded) ?? frame)
        }
        writer.wake()
    }

    @Test("A single RTMP connection sends a packet before the publishing thread continues")
    func atOnce() throws {
        let (connection, server) = try connect()
        _ = packets.connected()
        connection.goLive()
        try server.reads { $0.count == 3 }
        for frame in Int64(0)..<20 {
            _ = packets.push(Samples.video(pts: frame, dts: frame, isKeyframe: frame == 0))
            writer.serveAtOnce()
            #expect(connection.progress.frames == UInt64(frame) + 1)
        }
        connection.abandon()
    }

    @Test("An RTMP connection sends headers, the queued packets and the end of the stream")
    func life() throws {
        let (connection, server) = try connect()
        push(0..<10)
        _ = packets.connected()
        connection.goLive()
        try server.reads { $0.count == 13 }
        #expect(server.messages.prefix(3).map(\.type) == [18, 9, 8])
        #expect(server.count(9) == 11)
        try eventually { connection.progress.frames == 10 }
        push(10..<20)
        connection.drain()
        try server.reads { $0.count == 25 }
        #expect(server.messages.suffix(2).map(\.type) == [20, 20])
        shutdown(server.descriptor, CInt(SHUT_RDWR))
        try eventually { events.isDrained }
        #expect(connection.progress.frames == 20)
    }

    @Test("A timed text message is sent by RTMP between its neighboring frames, but not before the first frame")
    func texts() throws {
        let (connection, server) = try connect()
        _ = packets.push(EncodedPacket(text: "too early", at: 0))
        push(0..<3)
        _ = packets.push(EncodedPacket(text: "goal", at: 95_000_000))
        push(3..<5)
        _ = packets.connected()
        connection.goLive()
        try server.reads { $0.count == 9 }
        let media = server.messages.dropFirst(3)
        #expect(media.map(\.type) == [9, 9, 9, 18, 9, 9])
        let values = AMF0Reader.values(media[6].body)
        #expect(values.first == .string("onTextData") && values.last?.text("text") == "goal")
        // A later text does not change the codec configuration, so no header precedes it.
        _ = packets.push(EncodedPacket(text: "second", at: 165_000_000))
        push(5..<6)
        try server.reads { $0.count == 11 }
        #expect(server.messages.suffix(2).map(\.type) == [18, 9])
        connection.abandon()
    }

    @Test("If a server sends a ping while it does not read, the response is sent when the socket has room")
    func pongs() throws {
        let (connection, server) = try connect()
        push(0..<10, bytes: 60_000)
        _ = packets.connected()
        connection.goLive()
        // The server does not read, so the socket and its buffer are full.
        try eventually { connection.progress.bytes > 0 && !packets.isEmpty }
        for time in 0..<5 { server.say(4, [0, 6, 0, 0, 0, UInt8(time)]) }
        // The pings have been read when the connection has handled a message that was sent after them.
        server.say(status: "NetStream.Info", level: "status")
        try eventually { events.notices.contains { $0.contains("NetStream.Info") } }
        try server.reads { $0.contains { $0.type == 4 && $0.body == [0, 7, 0, 0, 0, 4] } }
        try server.reads { _ in server.count(9) == 11 }
        connection.abandon()
    }

    @Test("An RTMP connection continues after an error that does not concern publishing, and ends after one that does")
    func errors() throws {
        let (connection, server) = try connect()
        push(0..<2)
        _ = packets.connected()
        connection.goLive()
        try server.reads { _ in server.count(9) == 3 }
        server.say(status: "NetStream.Record.Failed", level: "error")
        try eventually { events.notices.contains { $0.contains("NetStream.Record.Failed") } }
        push(2..<4)
        try server.reads { _ in server.count(9) == 5 }
        #expect(events.failure == nil)
        server.say(status: "NetStream.Publish.Denied", level: "error")
        try eventually { events.failure != nil }
        #expect(events.failure?.kind == .refused && events.failure?.step == "send")
    }

    @Test("If an RTMP server closes the connection, this is reported once, without the key")
    func loss() throws {
        let (connection, server) = try connect()
        connection.goLive()
        try server.reads { $0.count == 3 }
        server.say(status: "NetConnection.Connect.Info abcdef", level: "status")
        try eventually { !events.notices.isEmpty }
        shutdown(server.descriptor, CInt(SHUT_RDWR))
        try eventually { events.failure != nil }
        #expect(events.failure?.kind == .lost)
        #expect(events.all.allSatisfy { !"\($0)".contains("abcdef") })
        connection.drain()
        writer.executor.queue.sync {}
        #expect(!events.isDrained)
    }

    /// Whether `message` is an AVC sequence header with the configuration of `track`.
    private func isHeader(_ message: RTMPInboundParser.Message, of track: TrackDescription) -> Bool {
        message.type == 9 && message.body == [0x17, 0, 0, 0, 0] + track.decoderConfiguration.array
    }

    @Test("If the codec configuration changes, RTMP metadata and a sequence header are sent once, before the keyframe")
    func recoding() throws {
        let (connection, server) = try connect()
        push(0..<30)
        _ = packets.connected()
        connection.goLive()
        try server.reads { $0.count == 33 }
        push(30..<40, as: Samples.otherTrack)
        try server.reads { $0.count == 45 }
        #expect(server.messages.dropFirst(33).prefix(3).map(\.type) == [18, 9, 9])
        #expect(isHeader(server.messages[34], of: Samples.otherTrack))
        #expect(server.messages[33].body != server.messages[0].body)
        #expect(server.messages[35].body.first == 0x17)
        push(40..<50, as: Samples.otherTrack)
        try server.reads { $0.count == 55 }
        #expect(server.count(18) == 2)
        connection.abandon()
    }

    @Test("If a full queue is emptied up to a keyframe of a new codec configuration, RTMP sends that configuration")
    func recodingAfterFlush() throws {
        let (connection, server) = try connect()
        push(0..<1)
        _ = packets.connected()
        connection.goLive()
        try server.reads { $0.count == 4 }
        // The writer is not woken, so that all packets stay queued and the limit is reached.
        for index in Int64(1)..<120 {
            let frame = Samples.video(pts: index, dts: index, isKeyframe: index % 30 == 0, bytes: 100_000)
            _ = packets.push(index < 90 ? frame : frame.recoded(as: Samples.otherTrack))
        }
        #expect(packets.status.drops[.overflow] ?? 0 > 0)
        writer.wake()
        try server.reads { $0.contains { isHeader($0, of: Samples.otherTrack) } }
        let header = try #require(server.messages.firstIndex { isHeader($0, of: Samples.otherTrack) })
        try server.reads { $0.count > header + 1 }
        #expect(server.messages[header + 1].body.first == 0x17)
        connection.abandon()
    }

    @Test("An RTMP connection that was prepared for an earlier codec configuration begins with the current headers")
    func lateJoiner() throws {
        let (connection, server) = try connect()
        push(0..<3, as: Samples.otherTrack)
        _ = packets.connected()
        connection.goLive()
        try server.reads { $0.count == 8 }
        #expect(isHeader(server.messages[4], of: Samples.otherTrack))
        connection.abandon()
    }

    @Test("Frames that an RTMP connection had not sent when the server left count as dropped")
    func unsentFrames() throws {
        let (connection, server) = try connect()
        push(0..<10, bytes: 60_000)
        _ = packets.connected()
        connection.goLive()
        // The server does not read, so the socket and its buffer are full.
        try eventually { connection.progress.waitingFrames > 0 }
        shutdown(server.descriptor, CInt(SHUT_RDWR))
        try eventually { events.failure != nil }
        let progress = connection.progress
        #expect(progress.waitingFrames == 0 && progress.drops.frames > 0)
        #expect(Int(progress.frames) + progress.drops.frames + packets.status.packets == 10)
    }

    @Test("A server whose messages cannot be parsed is reported once, and the stream to it continues")
    func malformedServer() throws {
        let (connection, server) = try connect()
        push(0..<2)
        _ = packets.connected()
        connection.goLive()
        try server.reads { _ in server.count(9) == 3 }
        // This message sets an invalid chunk size of 0.
        server.say(1, [0, 0, 0, 0])
        try eventually { !events.notices.isEmpty }
        server.say(1, [0, 0, 0, 0])
        push(2..<4)
        try server.reads { _ in server.count(9) == 5 }
        #expect(events.failure == nil && events.notices.count == 1)
        #expect(events.notices.first?.contains("cannot be parsed") == true)
        connection.abandon()
    }
}
