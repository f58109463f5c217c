// SPDX-License-Identifier: Apache-2.0

internal import CSRT
internal import Dispatch
internal import Glibc
package import Media
package import Networking
internal import Synchronization

/// Owns one SRT socket. Sending, connecting and accepting do not block. `srt_close` may block, so each close runs on
/// its own thread, for which no other thread waits.
package final class SRTSocket: Sendable {
    /// The result of sending a message.
    package enum Outcome: Equatable {
        case sent
        case wouldBlock
        case failed(String)
    }

    /// The state of a connection, or of an attempt to connect.
    package enum Condition: Equatable {
        case pending
        case connected
        case broken
    }

    private static let library: Void = {
        srt_startup()
        srt_setloglevel(LOG_CRIT)  // libsrt writes warnings to stderr, with secrets
    }()

    /// The size of the receive buffer (`SRTO_RCVBUF`) in bytes. It holds as many packets as libsrt's default flow
    /// window (`SRTO_FC`), which is enough for 20 Mbit/s with a latency of 12 s. libsrt allocates memory only for data
    /// that it actually buffers. At that rate, its default of 8192 packets would be too small from a latency of 4 s on.
    private static let receiveBuffer: CInt = 25_600 * 1472

    /// The maximum time for which opening a port waits while another socket is still closing that port.
    private static let patienceWithClosings = Duration.seconds(2)

    /// Counts the sockets of this process that are being closed.
    private static let closings = Mutex(SRTClosings())

    let handle: SRTSOCKET
    /// The object that libsrt's callback uses for a listening socket. It is kept in memory until the socket is closed.
    private let hook: SRTListenHook?
    private let isClosed = Atomic(false)

    private init(owning handle: SRTSOCKET, hook: SRTListenHook? = nil) {
        self.handle = handle
        self.hook = hook
    }

    deinit { close {} }

    /// Creates a socket that sends a stream, with the options of `url` and the settings in `bandwidth`. If the socket
    /// will listen, `admission` decides about callers.
    package convenience init(
        options url: SRTURL, bandwidth: SRTBandwidth, admission: SRTAdmission? = nil
    ) throws(OutputFailure) {
        let hook = admission.map { admission in
            SRTListenHook { admission.judge($0.streamID, from: $0.address, on: $0.socket) }
        }
        try self.init(url, hook: hook)
        set(SRTO_SENDER, CInt(1))
        // libsrt must not drop packets by itself. Its buffer is limited, and after an outage the receiver gets all
        // packets in it.
        set(SRTO_SNDDROPDELAY, CInt(-1))
        if let flow = bandwidth.flowWindow { set(SRTO_FC, CInt(clamping: flow)) }
        if let buffer = bandwidth.sendBuffer { set(SRTO_SNDBUF, CInt(clamping: buffer)) }
        if bandwidth.isLimited {  // options of the address are set later and override these
            set(SRTO_MAXBW, Int64(0))
            set(SRTO_INPUTBW, bandwidth.input)
            set(SRTO_OHEADBW, bandwidth.overhead)
        }
        try apply(url)
    }

    /// Creates a socket that receives, with the options of `url` except those in `omitted`. If the socket will listen,
    /// `hook` decides about callers.
    convenience init(
        receiving url: SRTURL, omitting omitted: Set<SRTOption> = [], hook: SRTListenHook? = nil
    ) throws(OutputFailure) {
        try self.init(url, hook: hook)
        set(SRTO_RCVBUF, Self.receiveBuffer)
        try apply(url, omitting: omitted)
    }

    private convenience init(_ url: SRTURL, hook: SRTListenHook?) throws(OutputFailure) {
        _ = Self.library
        let (reserved, closing) = Self.closings.withLock { ($0.reserve(at: SystemClock().now), $0.count) }
        guard let reserved else {
            throw OutputFailure(.unreachable, step: "connect", reason: "\(url): \(closing) sockets are still closing")
        }
        let handle = srt_create_socket()
        guard handle != SRT_INVALID_SOCK else {
            let failure = Self.failure("srt_create_socket", url)
            Self.closings.withLock { $0.giveBack(reserved) }
            throw failure
        }
        self.init(owning: handle, hook: hook)
        set(SRTO_SNDSYN, false)
        set(SRTO_RCVSYN, false)
        set(SRTO_LATENCY, CInt(200))
        set(SRTO_IPV6ONLY, CInt(0))  // without this libsrt does not bind to `::`
        set(SRTO_RENDEZVOUS, url.mode == .rendezvous)
    }

    private func apply(_ url: SRTURL, omitting omitted: Set<SRTOption> = []) throws(OutputFailure) {
        // The order of the options is fixed. A more specific latency option then overrides the general one, regardless
        // of their order in the address.
        for option in SRTOption.allCases where !omitted.contains(option) {
            if let value = url.options[option], !apply(value, to: option.symbol) {
                let text = url.masking("\(url): the option \(option.rawValue): \(Self.lastError)")
                throw OutputFailure(.refused, step: "connect", reason: text)
            }
        }
    }

    @discardableResult
    func set<Value>(_ option: SRT_SOCKOPT, _ value: Value) -> Bool {
        withUnsafeBytes(of: value) { srt_setsockflag(handle, option, $0.baseAddress, Int32($0.count)) == 0 }
    }

    /// Sets an option of the address. Returns false if libsrt rejects the value.
    func apply(_ value: SRTOptionValue, to option: SRT_SOCKOPT) -> Bool {
        value.withUnsafeBytes { srt_setsockflag(handle, option, $0.baseAddress, Int32($0.count)) == 0 }
    }

    static func failure(_ operation: String, _ url: SRTURL, step: String = "connect") -> OutputFailure {
        OutputFailure(.unreachable, step: step, reason: url.masking("\(url): \(operation): \(lastError)"))
    }

    private static var lastError: String { String(cString: srt_getlasterror_str()) }

    /// Closes the socket once, without blocking. Calls `completion` on any thread when libsrt has closed the socket and
    /// the peer was informed. A second call calls `completion` at once.
    package func close(_ completion: @escaping @Sendable () -> Void) {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return completion() }
        let work: @Sendable () -> Void = { [handle, hook] in
            srt_close(handle)
            withExtendedLifetime(hook) {}
            Self.closings.withLock { $0.ended() }
            completion()
        }
        Self.closings.withLock { $0.began() }
        if BlockingWork.start("relay.srt.close", work) != 0 {
            DispatchQueue(label: "relay.srt.close").async(execute: work)
        }
    }
}

// MARK: Connecting

extension SRTSocket {
    /// Binds the socket to the local `address`.
    package func bind(to address: HostAddress, url: SRTURL) throws(OutputFailure) {
        let status = address.withSockaddr { srt_bind(handle, $0, Int32($1)) }
        guard status != SRT_ERROR else {
            throw Self.failure("srt_bind", url, step: url.mode == .listener ? "listening" : "connect")
        }
    }

    /// Starts to connect to the peer at `address`.
    package func connect(to address: HostAddress, url: SRTURL) throws(OutputFailure) {
        let status = address.withSockaddr { srt_connect(handle, $0, Int32($1)) }
        guard status != SRT_ERROR else { throw Self.failure("srt_connect", url) }
    }

    /// Opens the port for callers. Blocks for at most two seconds while another socket that may have used this port is
    /// still being closed.
    package func listen(_ url: SRTURL) throws(OutputFailure) {
        if let hook {
            let opaque = Unmanaged.passUnretained(hook).toOpaque()  // `hook` lives until the socket is closed
            srt_listen_callback(handle, SRTListenHook.callback, opaque)
        }
        let clock = SystemClock()
        let deadline = clock.now + Self.patienceWithClosings
        while true {
            // The number of sockets that are being closed must be read before the call of `srt_listen`. A close that
            // completes during the call may have been the reason why the call failed.
            let isClosing = Self.closings.withLock { $0.count } > 0
            if srt_listen(handle, CInt(clamping: url.maximumCallers)) != SRT_ERROR { return }
            guard isClosing, srt_getlasterror(nil) == SRT_EDUPLISTEN.rawValue, clock.now < deadline else {
                throw Self.failure("srt_listen", url, step: "listening")
            }
            clock.sleep(until: clock.now + .milliseconds(5))
        }
    }

    /// Returns the socket of the next caller; nil if no caller waits. Returns nil also while too many sockets are still
    /// being closed.
    package func accept() -> SRTSocket? {
        guard let reserved = Self.closings.withLock({ $0.reserve(at: SystemClock().now) }) else { return nil }
        let accepted = srt_accept(handle, nil, nil)
        guard accepted != SRT_INVALID_SOCK else {
            Self.closings.withLock { $0.giveBack(reserved) }
            return nil
        }
        let socket = SRTSocket(owning: accepted)
        socket.set(SRTO_SNDSYN, false)
        socket.set(SRTO_RCVSYN, false)
        return socket
    }

    /// The state of the socket as libsrt reports it. It tells whether a socket that has become ready is connected or
    /// has failed.
    package var condition: Condition {
        switch srt_getsockstate(handle) {
        case SRTS_CONNECTED: .connected
        case SRTS_INIT, SRTS_OPENED, SRTS_LISTENING, SRTS_CONNECTING: .pending
        default: .broken
        }
    }

    /// The failure that tells why the peer did not accept the connection.
    package func rejection(of url: SRTURL) -> OutputFailure {
        let code = srt_getrejectreason(handle)
        let words = String(cString: srt_rejectreason_str(code))
        let kind: OutputFailure.Kind =
            switch UInt32(bitPattern: code) {
            case SRT_REJ_BADSECRET.rawValue, SRT_REJ_UNSECURE.rawValue, 1401, 1403: .refused
            case SRT_REJ_TIMEOUT.rawValue, SRT_REJ_UNKNOWN.rawValue, SRT_REJ_SYSTEM.rawValue: .unreachable
            default: .rejected
            }
        let number = code >= 1000 ? " (code \(code))" : ""
        return OutputFailure(kind, step: "connect", reason: url.masking("\(url): \(words)\(number)"))
    }
}

// MARK: Sending

extension SRTSocket {
    /// The time of libsrt's clock in microseconds, as ``send(_:at:)`` uses it.
    package static var now: Int64 { srt_time_now() }

    /// Passes `message` to libsrt, which copies it. A receiver outputs messages at the intervals of their `time`s
    /// (microseconds of ``now``), regardless of when the network delivered them.
    package func send(_ message: [UInt8], at time: Int64) -> Outcome {
        var control = SRT_MSGCTRL()
        srt_msgctrl_init(&control)
        control.srctime = time
        let count = message.withUnsafeBytes { bytes in
            srt_sendmsg2(handle, bytes.bindMemory(to: CChar.self).baseAddress, Int32(bytes.count), &control)
        }
        if count != SRT_ERROR { return .sent }
        var system: CInt = 0
        let code = srt_getlasterror(&system)
        return code == SRT_EASYNCSND.rawValue ? .wouldBlock : .failed(Self.lastError)
    }

    /// The data in libsrt that is not acknowledged yet. It is given as the time in milliseconds between the oldest and
    /// the newest message, as the size in bytes, and as the number of messages, each of which is one packet. Nil after
    /// libsrt has removed the connection.
    package var sendBuffer: (milliseconds: Int64, bytes: Int, messages: Int)? {
        var (blocks, bytes) = (0, 0)
        let time = srt_getsndbuffer(handle, &blocks, &bytes)
        return time < 0 ? nil : (Int64(time), bytes, blocks)
    }

    /// The time for which the receiver buffers data, in milliseconds. It is the larger of both sides' settings.
    package var receiverLatency: Int64 {
        var value: CInt = 0
        var length = CInt(MemoryLayout<CInt>.size)
        return srt_getsockflag(handle, SRTO_PEERLATENCY, &value, &length) == 0 ? Int64(value) : 0
    }
}

// MARK: Statistics

extension SRTSocket {
    /// The send statistics from libsrt; nil without a connection. The value `inputBandwidth` is not set.
    package func statistics() -> SRTStatistics? {
        var stats = SRT_TRACEBSTATS()
        guard srt_bistats(handle, &stats, 0, 1) == 0 else { return nil }
        var result = SRTStatistics()
        result.totals.packetsSent = stats.pktSentTotal
        result.totals.packetsSentUnique = stats.pktSentUniqueTotal
        result.totals.packetsRetransmitted = Int64(stats.pktRetransTotal)
        result.totals.packetsLost = Int64(stats.pktSndLossTotal)
        result.totals.packetsDropped = Int64(stats.pktSndDropTotal)
        result.totals.bytesDropped = Int64(clamping: stats.byteSndDropTotal)
        result.totals.reportsReceived = Int64(stats.pktRecvNAKTotal)
        result.moment = SRTStatistics.Moment(
            roundTripMilliseconds: stats.msRTT, sendRate: stats.mbpsSendRate, bandwidth: stats.mbpsBandwidth,
            maximumBandwidth: stats.mbpsMaxBW, packetsInFlight: Int(stats.pktFlightSize),
            flowWindow: Int(stats.pktFlowWindow), sendBufferMilliseconds: Int(stats.msSndBuf),
            sendBufferFreeBytes: Int(stats.byteAvailSndBuf), latencyMilliseconds: Int(stats.msSndTsbPdDelay))
        return result
    }

    /// The number of loss reports from the receiver since the connection began, plus the number of packets that libsrt
    /// dropped before it sent them; 0 without a connection.
    package var losses: Int64 {
        statistics().map { $0.totals.reportsReceived + $0.totals.packetsDropped } ?? 0
    }

    /// Sets the stream's rate in libsrt, in bytes per second.
    package func setInputRate(_ rate: Int64) { set(SRTO_INPUTBW, rate) }

    /// Sets the capacity for retransmissions, the packet filter and a backlog in libsrt, in percent of the stream's
    /// rate.
    package func setOverhead(_ percent: CInt) { set(SRTO_OHEADBW, percent) }
}
