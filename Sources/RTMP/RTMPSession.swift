// SPDX-License-Identifier: Apache-2.0

internal import CRTMP
internal import Glibc
package import Media
package import Networking

/// A librtmp session, from the handshake until the server has accepted the stream. Then relay takes over the socket.
///
/// ``connect()`` and ``publish()`` block until the server answers, a timeout of the socket expires, or another thread
/// shuts the socket down.
package final class RTMPSession {
    /// The state with which relay continues the conversation.
    package struct Handover {
        /// The ID of the message stream on which the stream is published or played.
        package let streamID: UInt32
        /// The parser that continues where librtmp, or the server's session, stopped parsing.
        let parser: RTMPInboundParser
        /// The bytes that were received but not parsed.
        let unread: [UInt8]
        /// Number of bytes received so far.
        let receivedBytes: Int
        /// The stream to which a player's commands refer; nil if the peer is a server.
        var running: RTMPRunningStream?
    }

    private let rtmp: UnsafeMutablePointer<RTMP>
    private let url: RTMPURL
    /// The login text that follows the application's name; empty without a login.
    private let login: String
    private let isEnhanced: Bool
    /// The server's capabilities, from its answer to `connect`.
    package private(set) var capabilities = RTMPCapabilities()
    /// The server's reason for a refusal, if it sent one.
    package private(set) var refusal: RTMPStatusMessage?
    /// The strings to which librtmp keeps pointers.
    private var strings: [UnsafeMutablePointer<CChar>] = []

    /// Creates a session on a duplicate of `socket`'s descriptor, because librtmp closes its descriptor. librtmp does
    /// not get the user and password, because it would log in over a connection of its own, which has no deadline,
    /// IPv6, TLS or proxy. `isEnhanced` announces Enhanced RTMP to the server.
    package init(url: RTMPURL, login: String, socket: TCPSocket, isEnhanced: Bool = false) throws(OutputFailure) {
        let copy = fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0, let rtmp = RTMP_Alloc() else {
            if copy >= 0 { close(copy) }
            throw OutputFailure(.unreachable, step: "handshake", reason: "out of descriptors or memory")
        }
        self.rtmp = rtmp
        self.url = url
        self.login = login
        self.isEnhanced = isEnhanced
        RTMP_LogSetLevel(RTMP_LOGCRIT)  // librtmp's messages contain the stream key
        RTMP_Init(rtmp)
        var (host, path, target, app) = (
            string(url.host), string(url.playPath), string(url.connectURL + login), string(url.connectApp + login)
        )
        var noProxy = AVal()  // the only argument that librtmp reads without a null check
        var version = string(RTMPConnectCommand.flashVersion)
        RTMP_SetupStream(
            rtmp, RTMP_PROTOCOL_RTMP, &host, UInt32(url.port), &noProxy, &path, &target, nil, nil, &app, nil, nil, 0,
            &version, nil, nil, 0, 0, 1, 10)
        RTMP_EnableWrite(rtmp)
        rtmp.pointee.m_sb.sb_socket = copy
    }

    deinit {
        // Without a stream ID, `RTMP_Close` closes the connection and sends nothing. If a teardown is needed, relay
        // sends it itself.
        rtmp.pointee.m_stream_id = 0
        RTMP_Close(rtmp)
        RTMP_Free(rtmp)
        for string in strings { free(string) }
    }

    private func string(_ text: String) -> AVal {
        guard let copy = strdup(text) else { return AVal() }
        strings.append(copy)
        return AVal(av_val: copy, av_len: Int32(strlen(copy)))
    }

    /// Performs the handshake, sends `connect`, announces our chunk size, and reads until the server has accepted the
    /// connection.
    package func connect() throws(OutputFailure) {
        let command = RTMPConnectCommand(
            app: url.connectApp + login, target: url.connectURL + login, isEnhanced: isEnhanced)
        // This is the transaction ID of `connect`. librtmp numbers the commands after `connect` from here on.
        rtmp.pointee.m_numInvokes = Int32(RTMPConnectCommand.transaction)
        try withPacket(command.bytes, type: RTMP_PACKET_TYPE_INVOKE, channel: 3) { RTMP_Connect1(rtmp, &$0) }
        let size = withUnsafeBytes(of: UInt32(RTMPChunkWriter.chunkBytes).bigEndian) { Array($0) }
        try withPacket(size, type: RTMP_PACKET_TYPE_CHUNK_SIZE, channel: 2) { RTMP_SendPacket(rtmp, &$0, 0) }
        rtmp.pointee.m_outChunkSize = Int32(RTMPChunkWriter.chunkBytes)
        var isConnected = false
        try read("handshake", until: { isConnected }) { command in
            let values = AMF0Reader.values(command)
            isConnected =
                values.count > 1 && values[0].text == "_result"
                && values[1] == .number(Double(RTMPConnectCommand.transaction))
            if isConnected { capabilities = values.dropFirst(2).reduce(into: .init()) { $0.add($1) } }
        }
    }

    /// Reads until the server has accepted the stream.
    package func publish() throws(OutputFailure) {
        try read("publish", until: { rtmp.pointee.m_bPlaying != 0 }) { _ in }
    }

    /// Reads messages and passes them to librtmp, as `RTMP_ConnectStream` does, until `isDone` returns true. When the
    /// server sends an error, stores the server's reason in ``refusal`` and throws, because the server will not change
    /// its answer. `saw` is called with every other command.
    private func read(_ step: String, until isDone: () -> Bool, saw: ([UInt8]) -> Void) throws(OutputFailure) {
        var packet = RTMPPacket()
        while !isDone() {
            guard RTMP_IsConnected(rtmp) != 0, RTMP_ReadPacket(rtmp, &packet) != 0 else { throw failure(step) }
            guard packet.m_nBytesRead == packet.m_nBodySize else { continue }
            defer { RTMPPacket_Free(&packet) }
            if let command = command(in: packet) {
                if let message = RTMPStatusMessage(command: command), message.isError {
                    // The error message is hidden from librtmp, which would answer a login challenge by itself.
                    refusal = message
                    throw failure(step)
                }
                saw(command)
            }
            RTMP_ClientPacket(rtmp, &packet)
        }
    }

    /// Calls `body` with a packet that contains `bytes`. The packet also has the free space that librtmp needs before
    /// the bytes.
    private func withPacket(
        _ bytes: [UInt8], type: Int32, channel: Int32, _ body: (inout RTMPPacket) -> Int32
    ) throws(OutputFailure) {
        var packet = RTMPPacket()
        guard RTMPPacket_Alloc(&packet, UInt32(bytes.count)) != 0 else { throw failure("handshake") }
        defer { RTMPPacket_Free(&packet) }
        packet.m_nChannel = channel
        packet.m_headerType = UInt8(RTMP_PACKET_SIZE_LARGE)
        packet.m_packetType = UInt8(type)
        packet.m_nBodySize = UInt32(bytes.count)
        UnsafeMutableRawBufferPointer(start: packet.m_body, count: bytes.count).copyBytes(from: bytes)
        guard body(&packet) != 0 else { throw failure("handshake") }
    }

    /// Takes the session over from librtmp.
    package func handOver() -> Handover {
        let buffered = UnsafeRawBufferPointer(
            start: rtmp.pointee.m_sb.sb_start, count: Int(max(0, rtmp.pointee.m_sb.sb_size)))
        return Handover(
            streamID: UInt32(bitPattern: rtmp.pointee.m_stream_id),
            parser: RTMPInboundParser(chunkBytes: Int(rtmp.pointee.m_inChunkSize), streams: inboundStreams()),
            unread: Array(buffered), receivedBytes: Int(rtmp.pointee.m_nBytesIn))
    }

    private func command(in packet: RTMPPacket) -> [UInt8]? {
        guard packet.m_packetType == UInt8(RTMP_PACKET_TYPE_INVOKE), let body = packet.m_body else { return nil }
        return Array(UnsafeRawBufferPointer(start: body, count: Int(packet.m_nBodySize)))
    }

    /// The state of the chunk streams, to which later chunks with shortened headers refer.
    private func inboundStreams() -> [Int: RTMPInboundParser.ChunkStream] {
        guard let channels = rtmp.pointee.m_vecChannelsIn else { return [:] }
        var streams: [Int: RTMPInboundParser.ChunkStream] = [:]
        for index in 0..<min(64, Int(rtmp.pointee.m_channelsAllocatedIn)) {
            guard let packet = channels[index]?.pointee else { continue }
            let partial = packet.m_body.map {
                Array(UnsafeRawBufferPointer(start: $0, count: Int(packet.m_nBytesRead)))
            }
            streams[index] = .init(type: packet.m_packetType, length: Int(packet.m_nBodySize), body: partial ?? [])
        }
        return streams
    }

    private func failure(_ step: String) -> OutputFailure {
        if let refusal {
            let kind = refusal.failureKind
            return OutputFailure(
                kind, step: step, reason: "the server said \(refusal.words(masking: url))",
                hint: kind == .refused ? .credentials : nil)
        }
        if rtmp.pointee.m_sb.sb_timedout != 0 {
            return OutputFailure(.unreachable, step: step, reason: "\(url): the server did not answer in time")
        }
        return OutputFailure(.rejected, step: step, reason: "\(url): the server closed the connection")
    }
}

/// The `connect` command (Adobe RTMP 1.0, 7.2.1.1). It replaces librtmp's, which puts additional properties outside the
/// command object.
struct RTMPConnectCommand {
    /// The transaction ID of the `connect` command.
    static let transaction = 1
    /// Servers recognize this version as an encoder.
    static let flashVersion = "FMLE/3.0 (compatible; FMSc/1.0)"
    /// `capsEx`: the server is allowed to ask us to reconnect (Enhanced RTMP v2, "Enhancing NetConnection connect
    /// Command").
    private static let reconnects = 1.0

    /// The application; for a login, the login data follows it.
    let app: String
    /// The `tcUrl`; for a login, the login data follows it.
    let target: String

    /// Whether the command announces codecs in the form of Enhanced RTMP.
    var isEnhanced = false

    /// The `connect` command in AMF0.
    var bytes: [UInt8] {
        var writer = AMF0Writer()
        writer.write("connect")
        writer.write(Double(Self.transaction))
        var properties: [(String, AMF0Value)] = [
            ("app", .string(app)), ("type", .string("nonprivate")), ("flashVer", .string(Self.flashVersion)),
            ("tcUrl", .string(target)), ("capsEx", .number(Self.reconnects)),
        ]
        if isEnhanced {
            let codes = Codec.allCases.compactMap(\.enhancedFourCC)
            properties.append(("fourCcList", .array(codes.map { .string($0) })))
        }
        writer.writeObject(properties)
        return writer.bytes
    }
}

extension RTMPBackChannel {
    /// Creates a parser that continues where librtmp, or the server's session, stopped parsing.
    package init(handover: RTMPSession.Handover) {
        self.init(
            parser: handover.parser, unread: handover.unread, receivedBytes: handover.receivedBytes,
            running: handover.running)
    }
}
