// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import RTMP

@Suite("An RTMP server's session with one client")
struct RTMPServerSessionTests {
    /// A session, and the events and answers that it has returned.
    private struct Talk {
        var session = RTMPServerSession()
        var parser = RTMPInboundParser()
        var said: [RTMPInboundParser.Message] = []
        var requests: [RTMPStreamRequest] = []
        var messages: [RTMPPublishedMessage] = []
        var endings = 0
        private var isGreeted = false
        private var answers: [UInt8] = []

        /// Feeds `bytes` from the client, and accepts a request unless `accepts` is false.
        mutating func says(_ bytes: [UInt8], accepts: Bool? = true) throws {
            var cursor = 0
            defer { listen() }
            while let event = try session.next(in: bytes.span, at: &cursor) {
                switch event {
                case .requested(let request):
                    requests.append(request)
                    if accepts == true { session.accept() }
                    if accepts == false { session.refuse(.denied) }
                case .message(let message): messages.append(message)
                case .ended: endings += 1
                }
            }
            #expect(cursor == bytes.count)
        }

        /// Parses the session's answers.
        mutating func listen() {
            answers += session.takeAnswers()
            if !isGreeted, answers.count >= 3073 {
                isGreeted = true
                answers.removeFirst(3073)
            }
            guard isGreeted else { return }
            said += (try? parser.parse(answers)) ?? []
            answers = []
        }

        /// The session's commands and codes, in order.
        var words: [String] {
            said.filter { $0.type == 20 }.compactMap { message in
                let values = AMF0Reader.values(message.body)
                return values.last?.text("code") ?? values.first?.text
            }
        }

        func result(of transaction: Double) -> [AMF0Value]? {
            said.filter { $0.type == 20 }.map { AMF0Reader.values($0.body) }.first {
                $0.first?.text == "_result" && $0[1] == .number(transaction)
            }
        }

        var texts: [String] {
            messages.map { message in
                switch message.content {
                case .video(let video): "\(message.timestamp) \(video.codec.rawValue)"
                case .audio(let audio): "\(message.timestamp) \(audio.codec.rawValue)"
                case .metadata(let properties): "metadata \(properties.keys.sorted())"
                case .data(let bytes): "data \(bytes.count)"
                case .unsupported(let codec): "unsupported \(codec)"
                case .otherTracks(let tracks): "other \(tracks)"
                }
            }
        }
    }

    private let frame: [UInt8] = [0x17, 1, 0, 0, 0, 1, 2, 3]

    @Test("A publisher gets the server's responses in the order that all encoders understand")
    func publishes() throws {
        var talk = Talk()
        try talk.says(ClientBytes.publishing("secret?token=1", app: "live/instance"))
        #expect(talk.said.prefix(2).map(\.type) == [5, 6])  // the Set Chunk Size message after them is applied
        #expect(talk.parser.chunkBytes == RTMPChunkWriter.chunkBytes)
        #expect(
            talk.words == [
                "NetConnection.Connect.Success", "_result", "_result", "_result", "NetStream.Publish.Start",
            ])
        #expect(talk.result(of: 4)?.last == .number(1))
        #expect(talk.said.last?.streamID == 1)
        let request = try #require(talk.requests.first)
        #expect(request.path == "live/instance/secret" && request.query == "token=1" && request.action == .publish)
        #expect(talk.session.phase == .publishing)
    }

    @Test("A publisher gets the same responses wherever its bytes are split")
    func splits() throws {
        let bytes = ClientBytes.publishing("secret") + ClientBytes.message(9, frame, time: 7, stream: 1, chunk: 4096)
        var whole = Talk()
        try whole.says(bytes)
        for split in stride(from: 0, to: bytes.count, by: 7) {
            var talk = Talk()
            try talk.says(Array(bytes[..<split]))
            try talk.says(Array(bytes[split...]))
            #expect(talk.words == whole.words && talk.texts == whole.texts && talk.texts == ["7 avc1"])
        }
    }

    @Test("Media, metadata and data on the publisher's message stream are accepted; other messages are ignored")
    func media() throws {
        var talk = Talk()
        try talk.says(ClientBytes.handshake + ClientBytes.connect() + ClientBytes.message(9, frame))
        try talk.says(ClientBytes.command("publish", 0, [.null, .string("key")], stream: 1))
        let properties = AMF0Value.object(["width": .number(640)])
        let set = ClientBytes.amf(.string("@setDataFrame")) + ClientBytes.amf(.string("onMetaData"))
        try talk.says(ClientBytes.message(18, set + ClientBytes.amf(properties), stream: 1))
        try talk.says(ClientBytes.message(18, ClientBytes.amf(.string("onMetaData")) + ClientBytes.amf(properties)))
        try talk.says(ClientBytes.message(15, [0] + ClientBytes.amf(.string("onCuePoint")), stream: 1))
        let keep = ClientBytes.amf(.string("@setDataFrame")) + ClientBytes.amf(.string("onCuePoint"))
        try talk.says(ClientBytes.message(18, keep, stream: 1))
        try talk.says(ClientBytes.message(9, frame, time: 0xFFFF_FFFF, stream: 1))
        try talk.says(ClientBytes.message(8, [0xAF, 1, 1], time: 5, stream: 1))
        try talk.says(ClientBytes.message(9, [], stream: 1) + ClientBytes.message(9, [0x17], stream: 1))
        #expect(
            talk.texts == [
                "metadata [\"width\"]", "metadata [\"width\"]", "data 13", "data 13", "4294967295 avc1", "5 mp4a",
            ])
    }

    @Test("A track with an unsupported codec is reported once")
    func unsupported() throws {
        var talk = Talk()
        try talk.says(ClientBytes.publishing("key"))
        for _ in 0..<3 {
            try talk.says(ClientBytes.message(9, [0x12, 0], stream: 1) + ClientBytes.message(8, [0xB2, 0], stream: 1))
        }
        #expect(talk.texts == ["unsupported video codec 2", "unsupported audio codec Speex"])
    }

    @Test("Audio tracks other than the first are reported once each")
    func otherTracks() throws {
        var talk = Talk()
        try talk.says(ClientBytes.publishing("key"))
        for track: UInt8 in [1, 2, 1, 2] {
            try talk.says(ClientBytes.message(8, [0x95, 0x01] + Array("mp4a".utf8) + [track, 9], stream: 1))
        }
        #expect(talk.texts == ["other [\"audio track 2 (AAC)\"]", "other [\"audio track 3 (AAC)\"]"])
    }

    @Test("Timestamps of messages within an RTMP aggregate are relative to the aggregate's own timestamp")
    func aggregate() throws {
        func tag(_ type: UInt8, _ time: UInt32, _ body: [UInt8]) -> [UInt8] {
            let header = [type] + ClientBytes.big(UInt32(body.count), 3) + ClientBytes.big(time & 0xFF_FFFF, 3)
            return header + [UInt8(time >> 24), 0, 0, 0] + body + ClientBytes.big(UInt32(body.count + 11), 4)
        }
        var talk = Talk()
        try talk.says(ClientBytes.publishing("key"))
        let tags = tag(9, 0x1FF_FFF0, frame) + tag(8, 0x200_0000, [0xAF, 1, 9]) + tag(9, 0x200_0010, frame)
        try talk.says(ClientBytes.message(22, tags, time: 1000, stream: 1, chunk: 4096))
        #expect(talk.texts == ["1000 avc1", "1016 mp4a", "1032 avc1"])
        // If the aggregate is truncated, its complete messages are reported.
        try talk.says(ClientBytes.message(22, Array(tags.dropLast(6)), time: 2000, stream: 1, chunk: 4096))
        #expect(talk.texts.suffix(2) == ["2000 avc1", "2016 mp4a"])
    }

    @Test("A client's commands in AMF3 messages are parsed")
    func amf3() throws {
        var talk = Talk()
        try talk.says(ClientBytes.handshake + ClientBytes.connect(adding: ["objectEncoding": .number(3)]))
        try talk.says(ClientBytes.command("createStream", 2, [.null], type: 17))
        try talk.says(ClientBytes.command("publish", 3, [.null, .string("key")], stream: 1, type: 17))
        #expect(talk.requests.first?.name == "key")
        let success = AMF0Reader.values(talk.said.first { $0.type == 20 }?.body ?? [])
        #expect(success.last?.property("objectEncoding") == .number(3))
    }

    @Test(
        "The server announces Enhanced RTMP only to a client that announces it",
        arguments: [true, false])
    func enhanced(isEnhanced: Bool) throws {
        var talk = Talk()
        let properties: [String: AMF0Value] = [
            "fourCcList": .array([.string("hvc1"), .string("av01")]), "capsEx": .number(7),
            "audioFourCcInfoMap": .object(["Opus": .number(1)]),
        ]
        try talk.says(ClientBytes.handshake + ClientBytes.connect(adding: isEnhanced ? properties : [:]))
        try talk.says(ClientBytes.command("publish", 3, [.null, .string("key")], stream: 1))
        let server = try #require(talk.result(of: 1))[2]
        #expect((server.property("videoFourCcInfoMap")?.property("hvc1") == .number(4)) == isEnhanced)
        #expect((server.property("capsEx") != nil) == isEnhanced)
        let capabilities = try #require(talk.requests.first).capabilities
        #expect(capabilities.isEnhanced == isEnhanced && capabilities.knows("Opus") == isEnhanced)
        #expect(capabilities.extensions == (isEnhanced ? 7 : 0))
    }

    @Test(
        "Each of three RTMP commands ends a stream, and another stream may follow on the same connection",
        arguments: [
            ClientBytes.command("FCUnpublish", 6, [.null, .string("key")], chunk: 4096),
            ClientBytes.command("deleteStream", 7, [.null, .number(1)], chunk: 4096),
            ClientBytes.command("deleteStream", 0, [.null, .string("key")], chunk: 4096),
            ClientBytes.command("closeStream", 0, [.null], stream: 1, chunk: 4096),
        ])
    func ends(command: [UInt8]) throws {
        var talk = Talk()
        try talk.says(ClientBytes.publishing("key") + command + command)
        #expect(talk.endings == 1 && talk.words.last == "NetStream.Unpublish.Success")
        try talk.says(ClientBytes.message(9, frame, stream: 1, chunk: 4096))
        #expect(talk.messages.isEmpty)
        try talk.says(ClientBytes.command("publish", 8, [.null, .string("other")], stream: 1, chunk: 4096))
        #expect(talk.requests.map(\.name) == ["key", "other"] && talk.session.phase == .publishing)
    }

    @Test(
        "A command that names another stream does not end the one that is being published",
        arguments: [
            ClientBytes.command("FCUnpublish", 6, [.null, .string("other")], chunk: 4096),
            ClientBytes.command("FCUnpublish", 6, [.null, .string("keys")], chunk: 4096),
            ClientBytes.command("deleteStream", 7, [.null, .number(7)], chunk: 4096),
            ClientBytes.command("deleteStream", 0, [.null, .string("other")], chunk: 4096),
            ClientBytes.command("closeStream", 0, [.null], stream: 2, chunk: 4096),
        ])
    func otherStream(command: [UInt8]) throws {
        var talk = Talk()
        try talk.says(ClientBytes.publishing("key") + command + command)
        #expect(talk.endings == 0 && talk.session.phase == .publishing)
        try talk.says(ClientBytes.message(9, frame, time: 3, stream: 1, chunk: 4096))
        #expect(talk.texts == ["3 avc1"])
        try talk.says(ClientBytes.command("deleteStream", 8, [.null, .number(1)], chunk: 4096))
        #expect(talk.endings == 1)
    }

    @Test(
        "A command that names the published stream in an unusual way, or no stream, ends that stream",
        arguments: [
            ClientBytes.command("FCUnpublish", 6, [.null, .string("key?token=2")], chunk: 4096),
            ClientBytes.command("FCUnpublish", 6, [.null, .string("/key/")], chunk: 4096),
            ClientBytes.command("FCUnpublish", 6, [.null], chunk: 4096),
            ClientBytes.command("deleteStream", 7, [.null], chunk: 4096),
            ClientBytes.command("deleteStream", 7, [.null, .number(0)], chunk: 4096),
            ClientBytes.command("closeStream", 0, [.null], stream: 0, chunk: 4096),
        ])
    func sameStream(command: [UInt8]) throws {
        var talk = Talk()
        try talk.says(ClientBytes.publishing("key?token=1") + command)
        #expect(talk.endings == 1 && talk.session.phase == .connected)
    }

    @Test("A client that publishes on message stream 0 may end its stream by a command for stream 1")
    func streamZero() throws {
        var talk = Talk()
        try talk.says(ClientBytes.handshake + ClientBytes.connect())
        try talk.says(ClientBytes.command("publish", 0, [.null, .string("key")]))
        try talk.says(ClientBytes.command("deleteStream", 0, [.null, .number(1)]))
        #expect(talk.endings == 1)
    }

    @Test("A player gets Play.Reset and Play.Start, and messages to it continue with the agreed chunk size")
    func plays() throws {
        var talk = Talk()
        try talk.says(
            ClientBytes.chunkless + ClientBytes.chunkSize(300)
                + ClientBytes.command(
                    "play2", 0, [.null, .object(["streamName": .string("program?key=x")])], stream: 1, chunk: 300))
        #expect(talk.words.suffix(2) == ["NetStream.Play.Reset", "NetStream.Play.Start"])
        let request = try #require(talk.requests.first)
        #expect(request.action == .play && request.path == "live/program" && request.parameter("key") == "x")
        let handover = talk.session.handOver(unread: [])
        #expect(handover.streamID == 1 && handover.parser.chunkBytes == 300)
        #expect(handover.receivedBytes == talk.session.receivedBytes)
        #expect(handover.parser.limits == RTMPServerSession.greetingLimits)
    }

    @Test(
        "A refusal of a publisher is sent with its status code on the publisher's message stream",
        arguments: [
            (RTMPServerSession.Refusal.denied, "NetStream.Publish.Denied"), (.busy, "NetStream.Publish.BadName"),
            (.failed, "NetStream.Publish.Failed"),
        ])
    func refuses(refusal: RTMPServerSession.Refusal, code: String) throws {
        var talk = Talk()
        try talk.says(ClientBytes.publishing("key"), accepts: nil)
        talk.session.refuse(refusal)
        talk.listen()
        #expect(talk.words.last == code && talk.said.last?.streamID == 1 && talk.session.phase == .connected)
    }

    @Test(
        "Optional RTMP commands are answered, so that the client does not wait for a response",
        arguments: [
            ("getStreamLength", "_result"), ("_checkbw", "_result"), ("FCSubscribe", "_result"),
            ("selfDestruct", "NetConnection.Call.Failed"),
        ])
    func calls(name: String, answer: String) throws {
        var talk = Talk()
        try talk.says(ClientBytes.handshake + ClientBytes.connect() + ClientBytes.command(name, 9, [.null]))
        #expect(talk.words.last == answer)
        let count = talk.words.count
        try talk.says(ClientBytes.command(name, 0, [.null]))
        #expect(talk.words.count == count)
    }

    @Test("A client's pings are answered, and bytes are acknowledged once per window that the client has set")
    func controls() throws {
        var talk = Talk()
        try talk.says(ClientBytes.handshake + ClientBytes.connect())
        try talk.says(ClientBytes.message(4, [0, 6, 1, 2, 3, 4], csid: 2))
        #expect(talk.said.last?.body == [0, 7, 1, 2, 3, 4])
        try talk.says(ClientBytes.message(5, ClientBytes.big(20_000, 4), csid: 2))
        for _ in 0..<5 { try talk.says(ClientBytes.message(0x55, [UInt8](repeating: 0, count: 10_000))) }
        let acknowledgements = talk.said.filter { $0.type == 3 }
        #expect((2...3).contains(acknowledgements.count))
        // A window of one byte is ignored: each answer would trigger another.
        try talk.says(ClientBytes.message(5, ClientBytes.big(1, 4), csid: 2))
        for _ in 0..<10 { try talk.says(ClientBytes.message(0x55, [1])) }
        #expect(talk.said.count { $0.type == 3 } <= 4)
    }

    @Test(
        "Commands out of order, a wrong chunk size and a too large message end a client's session with a reason",
        arguments: [
            ("its first command is not connect", ClientBytes.command("publish", 5, [.null, .string("key")])),
            ("it connects without an application", ClientBytes.command("connect", 1, [.null])),
            ("it connects twice", ClientBytes.connect() + ClientBytes.connect()),
            (
                "it asks for a second stream",
                ClientBytes.connect() + ClientBytes.command("publish", 5, [.null, .string("a")], stream: 1)
                    + ClientBytes.command("publish", 6, [.null, .string("b")], stream: 2)
            ),
            ("it sent a command without a name", ClientBytes.message(20, [0x03, 0, 1])),
            ("it sent an impossible chunk size", ClientBytes.chunkSize(0)),
            (
                "it sent a message of 65537 bytes, where 65536 are the most",
                ClientBytes.message(9, [UInt8](repeating: 1, count: 65_537))
            ),
        ])
    func disorder(reason: String, bytes: [UInt8]) {
        var talk = Talk()
        do {
            try talk.says(ClientBytes.handshake + bytes)
            Issue.record("nothing was thrown")
        } catch {
            #expect("\(error)" == reason)
        }
    }

    @Test("A client uses at most 64 KiB of memory until its stream is accepted")
    func greetingBound() throws {
        var talk = Talk()
        try talk.says(ClientBytes.handshake + ClientBytes.connect() + ClientBytes.chunkSize(0x7FFF_FFFF))
        var held = 0
        #expect(throws: RTMPServerSession.Failure.self) {
            for id in 4..<UInt8(20) {
                let begun = ClientBytes.message(9, [UInt8](repeating: 1, count: 60_000), csid: id, chunk: 60_000)
                try talk.says(begun.dropLast())
                held = max(held, talk.session.heldBytes)
            }
        }
        #expect(held > 50_000 && held <= 64 << 10)
    }

    @Test("A client gets at most 32 RTMP streams, and further requests for a stream fail")
    func streams() throws {
        var talk = Talk()
        try talk.says(ClientBytes.handshake + ClientBytes.connect())
        for number in 0..<1000 { try talk.says(ClientBytes.command("createStream", Double(number + 2), [.null])) }
        #expect(talk.words.count { $0 == "_result" } == 32)
        #expect(talk.words.last == "NetConnection.Call.Failed")
    }

    @Test("A client's software name is kept without control characters, and limited to 100 characters")
    func clientName() {
        let request = { (name: String) in
            RTMPStreamRequest(.publish, app: "live", name: "a", client: name, capabilities: RTMPCapabilities())
        }
        #expect(request("FMLE/3.0\u{1B}[2J\u{9B}1m\0\r\n\u{7F}é (x)").client == "FMLE/3.0[2J1m (x)")
        #expect(request(String(repeating: "a", count: 500)).client.count == 100)
    }

    @Test("A client's request is printed without its stream key")
    func masks() throws {
        var talk = Talk()
        try talk.says(ClientBytes.publishing("very-secret-key?token=hidden"))
        let request = try #require(talk.requests.first)
        var dumped = ""
        dump(request, to: &dumped)
        for text in ["\(request)", dumped, String(reflecting: request)] {
            #expect(!text.contains("secret") && !text.contains("hidden"))
        }
    }
}

extension ClientBytes {
    /// All bytes of a client up to `createStream`.
    fileprivate static let chunkless = handshake + connect() + command("createStream", 2, [.null])
}
