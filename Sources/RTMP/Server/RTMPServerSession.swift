// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The server's side of one RTMP connection. It does no I/O: it gets the received bytes, and returns events and the
/// bytes to send.
///
/// `handshake → connecting → connected ⇄ requested → publishing | playing`. `FCUnpublish`, `deleteStream` or
/// `closeStream` ends the stream, unless the command names another stream, and the connection is `connected` again.
/// After ``Event/requested(_:)`` the caller stops parsing, keeps the following bytes, and calls ``accept()`` or
/// ``refuse(_:)``. The caller sends ``takeAnswers()`` after each call. After an error, it sends the remaining answers
/// and closes the connection.
///
/// A client that is not accepted yet can use at most 64 KiB of memory, a publisher 17 MiB. A connection has at most one
/// stream at a time.
package struct RTMPServerSession {
    /// The result of received bytes.
    package enum Event: Sendable {
        /// The client asks to publish or play, and waits.
        case requested(RTMPStreamRequest)
        /// A message of the published stream.
        case message(RTMPPublishedMessage)
        /// The client ended its stream.
        case ended
    }

    /// Why a request is refused.
    package enum Refusal: Sendable, Equatable {
        /// There is no such stream, the key is wrong, or a permission is missing; the client does not learn which of
        /// these it is.
        case denied
        /// Another client publishes the stream.
        case busy
        /// The maximum number of clients is playing the stream.
        case full
        /// No decision was made in time, or the request cannot be served now.
        case failed
    }

    /// The client violated the protocol or a limit.
    package struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
        /// One sentence that contains no text of the client.
        package let description: String
    }

    /// The state of the connection.
    package enum Phase: Sendable, Equatable {
        case handshake
        case connecting
        case connected
        case requested
        case publishing
        case playing
    }

    /// Memory limits for a client that does not publish.
    static let greetingLimits = RTMPInboundParser.Limits(messageBytes: 64 << 10, heldBytes: 64 << 10, chunkStreams: 16)
    /// Memory limits for a publisher; a message's length has 24 bits.
    static let publisherLimits = RTMPInboundParser.Limits(messageBytes: 1 << 24, heldBytes: 17 << 20)
    /// The maximum size of a command or data message, in bytes. A longer data message is ignored; a longer command ends
    /// the connection.
    private static let amfBytes = 64 << 10
    private static let streams = 32

    /// The state of the connection.
    package private(set) var phase = Phase.handshake
    /// Number of bytes received so far.
    package private(set) var receivedBytes = 0
    private var acknowledgedBytes = 0
    /// Number of bytes after which the client expects an acknowledgement.
    private var windowBytes = Int(RTMPAnswers.windowBytes)
    private var handshake = RTMPServerHandshake()
    private(set) var parser = RTMPInboundParser(limits: greetingLimits)
    private var answers = RTMPAnswers()
    private var app = ""
    private var client = ""
    private var capabilities = RTMPCapabilities()
    private var createdStreams = 0
    /// The action of the client's last request, and the message stream on which it came.
    private(set) var request: (RTMPStreamRequest.Action, stream: UInt32)?
    /// The stream's name in the client's last request, without a query.
    private var requestedName = ""
    /// The unread part of an aggregate message.
    private var aggregate: RTMPAggregate?
    private var toldUnsupported: Set<UInt8> = []
    private var toldTracks: Set<String> = []

    /// A connection that was just accepted.
    package init() {}

    /// Returns the bytes to send; each byte is returned once.
    package mutating func takeAnswers() -> [UInt8] { answers.take() }

    /// Number of received bytes that the session keeps until more arrive.
    package var heldBytes: Int { parser.heldBytes + (aggregate?.count ?? 0) }

    /// Returns the next event in `bytes` from `cursor` on, and moves `cursor` past it; nil when all bytes are used up.
    package mutating func next(in bytes: Span<UInt8>, at cursor: inout Int) throws(Failure) -> Event? {
        let start = cursor
        defer { count(cursor - start) }
        do {
            return try advance(in: bytes, at: &cursor)
        } catch let error as RTMPInboundParser.Malformed {
            throw Failure(description: "it sent \(error.reason)")
        } catch let error as RTMPServerHandshake.Malformed {
            throw Failure(description: error.reason)
        } catch let error as Failure {
            throw error
        } catch {
            throw Failure(description: "it cannot be understood")
        }
    }

    private mutating func advance(in bytes: Span<UInt8>, at cursor: inout Int) throws -> Event? {
        if phase == .handshake {
            answers.append(try handshake.take(bytes, at: &cursor))
            guard handshake.isDone else { return nil }
            phase = .connecting
        }
        while true {
            while let message = aggregate?.next() {
                if let event = media(message) { return event }
            }
            aggregate = nil
            guard let message = try parser.next(in: bytes, at: &cursor) else { return nil }
            if let event = try handle(message) { return event }
        }
    }

    private mutating func count(_ bytes: Int) {
        receivedBytes += bytes
        guard phase != .handshake, receivedBytes - acknowledgedBytes >= windowBytes else { return }
        acknowledgedBytes = receivedBytes
        answers.acknowledge(receivedBytes)
    }

    private mutating func handle(_ message: RTMPInboundParser.Message) throws(Failure) -> Event? {
        switch message.type {
        case 4: control(message.body)
        case 5:
            // The client's window is raised to a minimum. With a window of a few bytes, each acknowledgement would
            // cause another acknowledgement.
            let window = message.body.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            if message.body.count >= 4 { windowBytes = max(1 << 14, min(window, Int(RTMPAnswers.windowBytes))) }
        case 6: answers.announceWindow()
        case 8, 9, 18, 15: return media(message)
        case 20: return try command(message.body[...], stream: message.streamID)
        // An AMF3 command is one byte, followed by AMF0.
        case 17: return try command(message.body.dropFirst(), stream: message.streamID)
        case 22 where phase == .publishing: aggregate = RTMPAggregate(message)
        default: break
        }
        return nil
    }

    private mutating func control(_ body: [UInt8]) {
        guard body.count >= 6, body[0] == 0, body[1] == RTMPAnswers.UserEvent.pingRequest else { return }
        answers.user(RTMPAnswers.UserEvent.pingResponse, body[2..<6])
    }
}

extension RTMPServerSession {
    /// Grants the client's request.
    package mutating func accept() {
        guard phase == .requested, let (action, stream) = request else { return }
        if action == .publish {
            phase = .publishing
            parser.limits = Self.publisherLimits
            (toldUnsupported, toldTracks) = ([], [])
            answers.user(RTMPAnswers.UserEvent.streamBegin, stream: stream)
            answers.status(.success("NetStream.Publish.Start", "The stream is being published."), stream: stream)
        } else {
            phase = .playing
            answers.user(RTMPAnswers.UserEvent.streamBegin, stream: stream)
            answers.status(.success("NetStream.Play.Reset", "The stream begins anew."), stream: stream)
            answers.status(.success("NetStream.Play.Start", "The stream is being played."), stream: stream)
            answers.allowSampleAccess(stream: stream)
        }
    }

    /// Refuses the client's request. The caller must close the connection after the client had time to read the
    /// refusal, because some clients (librtmp) ignore it.
    package mutating func refuse(_ refusal: Refusal) {
        guard phase == .requested, let (action, stream) = request else { return }
        phase = .connected
        let status: RTMPAnswers.Status =
            switch (action, refusal) {
            case (.publish, .busy): .error("NetStream.Publish.BadName", "The stream is already being published.")
            case (.publish, .denied): .error("NetStream.Publish.Denied", "The stream key is not known here.")
            case (.publish, _): .error("NetStream.Publish.Failed", "The stream cannot be published now.")
            case (.play, .denied): .error("NetStream.Play.StreamNotFound", "There is no such stream.")
            case (.play, _): .error("NetStream.Play.Failed", "The stream cannot be played now.")
            }
        answers.status(status, stream: stream)
    }
}

extension RTMPServerSession {
    private mutating func command(_ body: ArraySlice<UInt8>, stream: UInt32) throws(Failure) -> Event? {
        guard body.count <= Self.amfBytes else { throw Failure(description: "it sent a command of more than 64 KiB") }
        let values = AMF0Reader.values(body)
        guard let name = values.first?.text else { throw Failure(description: "it sent a command without a name") }
        let transaction = values.count > 1 ? values[1].number ?? 0 : 0
        guard phase != .connecting || name == "connect" else {
            answers.error(
                transaction: transaction, .error("NetConnection.Call.Failed", "connect must be the first command."))
            throw Failure(description: "its first command is not connect")
        }
        switch name {
        case "connect": try connect(values, transaction)
        case "createStream": createStream(transaction)
        case "publish": return try request(.publish, values, stream)
        case "play", "play2": return try request(.play, values, stream)
        case "FCUnpublish", "deleteStream": return names(values.count > 3 ? values[3] : .null) ? end() : nil
        case "closeStream": return names(.number(Double(stream))) ? end() : nil
        case "releaseStream", "FCPublish", "FCSubscribe", "getStreamLength", "_checkbw":
            if transaction != 0 {
                answers.result(transaction: transaction, name == "getStreamLength" ? 0 : nil)
            }
        // These commands are ignored here. While a player is on air, its output handles them. Before `play`, they have
        // no effect on live media.
        case "pause", "receiveAudio", "receiveVideo", "setBufferLength", "_result", "_error", "onStatus": break
        default:
            if transaction != 0 {
                answers.error(
                    transaction: transaction, .error("NetConnection.Call.Failed", "The method is not known here."))
            }
        }
        return nil
    }

    private mutating func connect(_ values: [AMF0Value], _ transaction: Double) throws(Failure) {
        guard phase == .connecting else { throw Failure(description: "it connects twice") }
        guard values.count > 2, let app = values[2].text("app") else {
            answers.error(
                transaction: transaction,
                .error("NetConnection.Connect.InvalidApp", "connect must name an application."))
            throw Failure(description: "it connects without an application")
        }
        self.app = app
        client = values[2].text("flashVer") ?? ""
        capabilities = RTMPCapabilities(connect: values[2])
        answers.announce()
        answers.connected(
            transaction: transaction, encoding: values[2].property("objectEncoding")?.number ?? 0,
            capabilities: capabilities)
        phase = .connected
    }

    private mutating func createStream(_ transaction: Double) {
        guard createdStreams < Self.streams else {
            answers.error(transaction: transaction, .error("NetConnection.Call.Failed", "There are too many streams."))
            return
        }
        createdStreams += 1
        answers.result(transaction: transaction, Double(createdStreams))
    }

    private mutating func request(
        _ action: RTMPStreamRequest.Action, _ values: [AMF0Value], _ stream: UInt32
    ) throws(Failure) -> Event? {
        guard phase == .connected else { throw Failure(description: "it asks for a second stream") }
        // The command's argument follows the transaction ID and a null; for `play2` it is an object that contains the
        // name.
        let argument = values.count > 3 ? values[3] : .null
        let name = argument.text ?? argument.text("streamName") ?? ""
        request = (action, stream)
        let wanted = RTMPStreamRequest(action, app: app, name: name, client: client, capabilities: capabilities)
        requestedName = wanted.name
        phase = .requested
        return .requested(wanted)
    }

    /// The stream of the client's last request; nil before the first one.
    var runningStream: RTMPRunningStream? { request.map { RTMPRunningStream(id: $0.stream, name: requestedName) } }

    /// Whether `argument` of a command names the running stream.
    private func names(_ argument: AMF0Value) -> Bool { runningStream?.isNamed(by: argument) == true }

    private mutating func end() -> Event? {
        guard phase == .publishing || phase == .playing, let (action, stream) = request else { return nil }
        let code = action == .publish ? "NetStream.Unpublish.Success" : "NetStream.Play.Stop"
        answers.status(.success(code, "The stream has ended."), stream: stream)
        phase = .connected
        parser.limits = Self.greetingLimits
        return .ended
    }
}

extension RTMPServerSession {
    /// Parses an audio, video or data message of the published stream; nil if it has no content that can be used.
    private mutating func media(_ message: RTMPInboundParser.Message) -> Event? {
        guard phase == .publishing else { return nil }
        do throws(FLVFailure) {
            let content: RTMPPublishedMessage.Content? =
                switch message.type {
                case 8: try FLVAudio(body: message.body[...]).map { .audio($0) }
                case 9: try FLVVideo(body: message.body[...]).map { .video($0) }
                case 18: Self.data(message.body[...])
                case 15: Self.data(message.body.dropFirst())
                default: nil
                }
            return content.map { .message(RTMPPublishedMessage(timestamp: message.timestamp, content: $0)) }
        } catch .unsupported(let codec) where toldUnsupported.insert(message.type).inserted {
            return .message(RTMPPublishedMessage(timestamp: message.timestamp, content: .unsupported(codec)))
        } catch .otherTracks(let tracks) where !toldTracks.isSuperset(of: tracks) && toldTracks.count < 8 {
            toldTracks.formUnion(tracks)
            return .message(RTMPPublishedMessage(timestamp: message.timestamp, content: .otherTracks(tracks)))
        } catch {
            // An invalid message is ignored, because encoders send empty and malformed messages.
            return nil
        }
    }

    /// The AMF0 text `@setDataFrame`.
    private static let setDataFrame: [UInt8] = [0x02, 0, 13] + Array("@setDataFrame".utf8)

    private static func data(_ body: ArraySlice<UInt8>) -> RTMPPublishedMessage.Content? {
        guard body.count <= amfBytes else { return nil }
        // If the message begins with `@setDataFrame`, a command to the server, the data that the server should store
        // for players follows.
        let body = body.starts(with: setDataFrame) ? body.dropFirst(setDataFrame.count) : body
        let values = AMF0Reader.values(body)
        guard let name = values.first?.text, name.first != "@" else { return nil }
        guard name == "onMetaData" else { return .data(SharedBytes(body)) }
        guard values.count > 1, case .object(let properties) = values[1] else { return nil }
        return .metadata(properties)
    }
}
