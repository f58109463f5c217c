// SPDX-License-Identifier: Apache-2.0

internal import CSRT
internal import Dispatch
internal import FanOut
internal import Glibc

/// The owner of one non-blocking SRT socket. `srt_close` may block, so it runs on a queue that nobody waits for.
final class SRTSocket: Sendable {
    /// What a send came to.
    enum Outcome: Equatable {
        case sent
        case wouldBlock
        case failed(String)
    }

    /// What became of a call or a connection.
    enum Condition: Equatable {
        case pending
        case connected
        case broken
    }

    private static let library: Void = {
        srt_startup()
        srt_setloglevel(LOG_CRIT)  // its warnings would go to our standard error, unmasked
    }()
    private static let closing = DispatchQueue(label: "relay.srt.close", attributes: .concurrent)

    private let handle: SRTSOCKET

    private init(owning handle: SRTSOCKET) { self.handle = handle }

    /// Calls `body` when the sockets released before have been closed: the receiver has been told.
    static func afterCloses(_ body: @escaping @Sendable () -> Void) {
        closing.async(flags: .barrier, execute: body)
    }

    deinit { Self.closing.async { [handle] in srt_close(handle) } }

    /// A fresh socket with the options of `url`.
    convenience init(options url: SRTURL) throws(OutputFailure) {
        _ = Self.library
        let handle = srt_create_socket()
        guard handle != SRT_INVALID_SOCK else { throw Self.failure("srt_create_socket", url) }
        self.init(owning: handle)
        set(SRTO_SNDSYN, false)
        set(SRTO_RCVSYN, false)
        set(SRTO_SENDER, CInt(1))
        set(SRTO_LATENCY, CInt(200))
        // In a fixed order, so that a special latency overrides the common one whatever the order in the address.
        for option in SRTOption.allCases {
            if let value = url.options[option], !apply(value, to: option.symbol) {
                throw Self.failure("the option \(option.rawValue)", url)
            }
        }
    }

    @discardableResult
    private func set<Value>(_ option: SRT_SOCKOPT, _ value: Value) -> Bool {
        withUnsafeBytes(of: value) { srt_setsockflag(handle, option, $0.baseAddress, Int32($0.count)) == 0 }
    }

    private func apply(_ value: SRTOptionValue, to option: SRT_SOCKOPT) -> Bool {
        switch value {
        case .integer(let number): set(option, number)
        case .wide(let number): set(option, number)
        // A C++ bool or an int is accepted for most, but for some only an int.
        case .flag(let flag): set(option, CInt(flag ? 1 : 0))
        case .linger(let seconds): set(option, linger(l_onoff: seconds > 0 ? 1 : 0, l_linger: seconds))
        case .text(let text): srt_setsockflag(handle, option, text, Int32(text.utf8.count)) == 0
        }
    }

    private static func failure(_ operation: String, _ url: SRTURL) -> OutputFailure {
        OutputFailure(.unreachable, step: "connect", reason: url.masking("\(url): \(operation): \(lastError)"))
    }

    private static var lastError: String { String(cString: srt_getlasterror_str()) }
}

extension SRTSocket {
    /// Begins to call the receiver.
    func connect(to address: addrinfo, url: SRTURL) throws(OutputFailure) {
        guard srt_connect(handle, address.ai_addr, Int32(address.ai_addrlen)) != SRT_ERROR else {
            throw Self.failure("srt_connect", url)
        }
    }

    /// Begins to wait for a receiver's call.
    func listen(at address: addrinfo, url: SRTURL) throws(OutputFailure) {
        guard srt_bind(handle, address.ai_addr, Int32(address.ai_addrlen)) != SRT_ERROR else {
            throw Self.failure("srt_bind", url)
        }
        guard srt_listen(handle, 1) != SRT_ERROR else { throw Self.failure("srt_listen", url) }
    }

    /// The receiver that has called, if one has.
    func accept() -> SRTSocket? {
        let accepted = srt_accept(handle, nil, nil)
        guard accepted != SRT_INVALID_SOCK else { return nil }
        let socket = SRTSocket(owning: accepted)
        socket.set(SRTO_SNDSYN, false)
        socket.set(SRTO_RCVSYN, false)
        return socket
    }

    /// The state, as the library keeps it: readiness alone does not tell a connection from a failure.
    var condition: Condition {
        switch srt_getsockstate(handle) {
        case SRTS_CONNECTED: .connected
        case SRTS_INIT, SRTS_OPENED, SRTS_LISTENING, SRTS_CONNECTING: .pending
        default: .broken
        }
    }

    /// Why the receiver did not take the call.
    func rejection(of url: SRTURL) -> OutputFailure {
        let code = srt_getrejectreason(handle)
        let words = String(cString: srt_rejectreason_str(code))
        let kind: OutputFailure.Kind =
            switch UInt32(bitPattern: code) {
            case SRT_REJ_BADSECRET.rawValue, SRT_REJ_UNSECURE.rawValue, 1401, 1403: .refused
            case SRT_REJ_TIMEOUT.rawValue, SRT_REJ_UNKNOWN.rawValue, SRT_REJ_SYSTEM.rawValue: .unreachable
            default: .rejected
            }
        return OutputFailure(kind, step: "connect", reason: url.masking("\(url): \(words)"))
    }

    /// Hands one message to the library, which copies it.
    func send(_ message: [UInt8]) -> Outcome {
        let count = message.withUnsafeBytes { bytes in
            srt_sendmsg2(handle, bytes.bindMemory(to: CChar.self).baseAddress, Int32(bytes.count), nil)
        }
        if count != SRT_ERROR { return .sent }
        var system: CInt = 0
        let code = srt_getlasterror(&system)
        return code == SRT_EASYNCSND.rawValue ? .wouldBlock : .failed(Self.lastError)
    }

    /// Media time that the library holds unacknowledged, in milliseconds, and the bytes of it.
    var sendBuffer: (milliseconds: Int, bytes: Int) {
        var (blocks, bytes) = (0, 0)
        let time = srt_getsndbuffer(handle, &blocks, &bytes)
        return (max(0, Int(time)), bytes)
    }

    /// How long the receiver holds what it gets, in milliseconds: the larger wish of both sides.
    var receiverLatency: Int {
        var value: CInt = 0
        var length = CInt(MemoryLayout<CInt>.size)
        return srt_getsockflag(handle, SRTO_PEERLATENCY, &value, &length) == 0 ? Int(value) : 0
    }

    /// The stream id that a caller named.
    var streamID: String {
        withUnsafeTemporaryAllocation(byteCount: 513, alignment: 1) { memory in
            var length = CInt(512)
            guard srt_getsockflag(handle, SRTO_STREAMID, memory.baseAddress, &length) == 0 else { return "" }
            return String(decoding: memory.prefix(Int(max(0, length))), as: UTF8.self)
        }
    }

    /// Numbers for display, by the names of ``AttemptProgress/details``.
    func details() -> [String: Double] {
        var stats = SRT_TRACEBSTATS()
        guard srt_bistats(handle, &stats, 0, 1) == 0 else { return [:] }
        return [
            "rtt_ms": stats.msRTT, "send_rate_mbps": stats.mbpsSendRate, "snd_buf_ms": Double(stats.msSndBuf),
            "retransmitted": Double(stats.pktRetransTotal), "dropped_bytes": Double(stats.byteSndDropTotal),
            "latency_ms": Double(stats.msSndTsbPdDelay),
        ]
    }
}
