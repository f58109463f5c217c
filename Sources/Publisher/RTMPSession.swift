// SPDX-License-Identifier: Apache-2.0

internal import CRTMP
internal import FanOut
internal import Glibc

/// librtmp, from the handshake until the server has accepted the stream; then the socket is taken over.
///
/// Every call blocks, bounded by the socket's timeouts, and by whoever shuts the socket down.
final class RTMPSession {
    /// What goes on without librtmp.
    struct Handover {
        /// The stream's number.
        let streamID: UInt32
        /// The socket that librtmp opened in place of the given one, which it does to log in.
        let replacement: TCPSocket?
        /// Goes on reading where librtmp stopped.
        let parser: RTMPInboundParser
        /// What librtmp had received and not looked at.
        let unread: [UInt8]
        /// Bytes received so far.
        let receivedBytes: Int
    }

    private let rtmp: UnsafeMutablePointer<RTMP>
    private let url: RTMPURL
    /// librtmp keeps pointers into these.
    private var strings: [UnsafeMutablePointer<CChar>] = []

    /// A session on a copy of `socket`'s descriptor: librtmp closes what it is given.
    init(url: RTMPURL, socket: TCPSocket) throws(OutputFailure) {
        let copy = fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0, let rtmp = RTMP_Alloc() else {
            if copy >= 0 { close(copy) }
            throw OutputFailure(.unreachable, step: "handshake", reason: "out of descriptors or memory")
        }
        self.rtmp = rtmp
        self.url = url
        RTMP_LogSetLevel(RTMP_LOGCRIT)  // its messages hold the key
        RTMP_Init(rtmp)
        var (host, path, target, app) = (
            string(url.host), string(url.playPath), string(url.connectURL), string(url.app)
        )
        var noProxy = AVal()  // the one argument that librtmp reads without looking whether it is there
        var version = string("FMLE/3.0 (compatible; FMSc/1.0)")
        RTMP_SetupStream(
            rtmp, RTMP_PROTOCOL_RTMP, &host, UInt32(url.port), &noProxy, &path, &target, nil, nil, &app, nil, nil, 0,
            &version, nil, nil, 0, 0, 1, 10)
        rtmp.pointee.Link.pubUser = string(url.user ?? "")
        rtmp.pointee.Link.pubPasswd = string(url.password ?? "")
        RTMP_EnableWrite(rtmp)
        rtmp.pointee.m_sb.sb_socket = copy
    }

    deinit {
        // Without a stream to end, RTMP_Close only closes: the farewell is ours to say, or not to.
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

    /// Shakes hands, sends `connect` and announces our chunk size.
    func handshake() throws(OutputFailure) {
        guard RTMP_Connect1(rtmp, nil) != 0 else { throw failure("handshake", said: nil) }
        var packet = RTMPPacket()
        guard RTMPPacket_Alloc(&packet, 4) != 0 else { throw failure("handshake", said: nil) }
        defer { RTMPPacket_Free(&packet) }
        packet.m_nChannel = 2
        packet.m_headerType = UInt8(RTMP_PACKET_SIZE_LARGE)
        packet.m_packetType = UInt8(RTMP_PACKET_TYPE_CHUNK_SIZE)
        packet.m_nBodySize = 4
        UnsafeMutableRawBufferPointer(start: packet.m_body, count: 4)
            .storeBigEndian(UInt32(RTMPChunkWriter.chunkBytes), bytes: 4, at: 0)
        guard RTMP_SendPacket(rtmp, &packet, 0) != 0 else { throw failure("handshake", said: nil) }
        rtmp.pointee.m_outChunkSize = Int32(RTMPChunkWriter.chunkBytes)
    }

    /// Reads until the server has accepted the stream. What `RTMP_ConnectStream` does, but it keeps the server's reason.
    func publish() throws(OutputFailure) {
        var said: RTMPServerNote?
        var packet = RTMPPacket()
        while rtmp.pointee.m_bPlaying == 0, RTMP_IsConnected(rtmp) != 0, RTMP_ReadPacket(rtmp, &packet) != 0 {
            guard packet.m_nBytesRead == packet.m_nBodySize else { continue }
            if let note = note(in: packet), note.isError { said = note }
            RTMP_ClientPacket(rtmp, &packet)
            RTMPPacket_Free(&packet)
            // librtmp waits on after `_error`; the server will not change its mind. An answer that asks for a login is
            // librtmp's to handle, and it has done so inside RTMP_ClientPacket.
            if let said, rtmp.pointee.m_bPlaying == 0, url.user == nil { throw failure("publish", said: said) }
        }
        guard rtmp.pointee.m_bPlaying != 0 else { throw failure("publish", said: said) }
    }

    /// Takes the session over from librtmp.
    func handOver(from socket: TCPSocket) -> Handover {
        let buffered = UnsafeRawBufferPointer(
            start: rtmp.pointee.m_sb.sb_start, count: Int(max(0, rtmp.pointee.m_sb.sb_size)))
        return Handover(
            streamID: UInt32(bitPattern: rtmp.pointee.m_stream_id),
            replacement: replacement(of: socket),
            parser: RTMPInboundParser(
                chunkBytes: Int(rtmp.pointee.m_inChunkSize), streams: inboundStreams()),
            unread: Array(buffered), receivedBytes: Int(rtmp.pointee.m_nBytesIn))
    }

    private func note(in packet: RTMPPacket) -> RTMPServerNote? {
        guard packet.m_packetType == UInt8(RTMP_PACKET_TYPE_INVOKE), let body = packet.m_body else { return nil }
        return RTMPServerNote(
            command: Array(UnsafeRawBufferPointer(start: body, count: Int(packet.m_nBodySize))))
    }

    /// The socket that librtmp opened itself, if it did.
    private func replacement(of socket: TCPSocket) -> TCPSocket? {
        var (ours, theirs) = (stat(), stat())
        fstat(socket.descriptor, &ours)
        guard fstat(rtmp.pointee.m_sb.sb_socket, &theirs) == 0, ours.st_ino != theirs.st_ino else { return nil }
        let copy = fcntl(rtmp.pointee.m_sb.sb_socket, F_DUPFD_CLOEXEC, 0)
        return copy >= 0 ? TCPSocket(owning: copy) : nil
    }

    /// What later chunks with shortened headers refer to.
    private func inboundStreams() -> [Int: RTMPInboundParser.ChunkStream] {
        guard let channels = rtmp.pointee.m_vecChannelsIn else { return [:] }
        var streams: [Int: RTMPInboundParser.ChunkStream] = [:]
        for index in 0..<min(64, Int(rtmp.pointee.m_channelsAllocatedIn)) {
            guard let packet = channels[index]?.pointee else { continue }
            let partial = packet.m_body.map {
                Array(UnsafeRawBufferPointer(start: $0, count: Int(packet.m_nBytesRead)))
            }
            streams[index] = .init(
                type: packet.m_packetType, length: Int(packet.m_nBodySize), body: partial ?? [])
        }
        return streams
    }

    private func failure(_ step: String, said: RTMPServerNote?) -> OutputFailure {
        if let said {
            return OutputFailure(said.failureKind, step: step, reason: url.masking("the server said \(said)"))
        }
        if rtmp.pointee.m_sb.sb_timedout != 0 {
            return OutputFailure(.unreachable, step: step, reason: "\(url): the server did not answer in time")
        }
        return OutputFailure(.rejected, step: step, reason: "\(url): the server closed the connection")
    }
}

/// What a server says of the stream in an `onStatus` or `_error` command (Adobe RTMP 1.0, 7.2.2 and 7.2.1).
struct RTMPServerNote: Equatable, CustomStringConvertible {
    let isError: Bool
    let code: String
    let text: String

    /// The note in the AMF0 command `command`, if it is one.
    init?(command: [UInt8]) {
        let values = AMF0Reader.values(command)
        guard let name = values.first?.text, ["onStatus", "_error", "close"].contains(name) else { return nil }
        let information = values.last { if case .object = $0 { true } else { false } }
        code = information?.text("code") ?? name
        text = information?.text("description") ?? ""
        // releaseStream and FCPublish (2, 3) are courtesies that servers may not know; librtmp numbers the
        // rest 1 (connect), 4 (createStream) and 5 (publish).
        let isOfConnect = values.count > 1 && values[1] == .number(1)
        let isOfStream = values.count > 1 && (values[1] == .number(4) || values[1] == .number(5))
        isError =
            name == "close" || (name == "_error" && (isOfConnect || isOfStream))
            || (name == "onStatus" && information?.text("level") == "error")
    }

    /// A login or permission that is missing will not appear by itself. `BadName` is what some servers say of a bad
    /// key, but others say it as long as they hold our own last connection.
    var failureKind: OutputFailure.Kind {
        let words = "\(code) \(text)".lowercased()
        let lasting = ["publish.denied", "authfail", "code=403", "needauth", "auth failed", "unauthorized"]
        return lasting.contains { words.contains($0) } ? .refused : .rejected
    }

    var description: String {
        // A server's words are data: one line, of a length that fits a log.
        let line = text.isEmpty ? code : "\(code): \(text)"
        return String(line.prefix(200).map { $0.isNewline || $0.asciiValue.map { $0 < 0x20 } == true ? " " : $0 })
    }
}
