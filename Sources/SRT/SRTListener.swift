// SPDX-License-Identifier: Apache-2.0

internal import CSRT
internal import Dispatch
internal import Media
internal import Networking
internal import Synchronization

/// One port that receives streams from callers and distinguishes them by their stream IDs. May be used on any thread.
final class SRTListener: Sendable {
    private struct State {
        var receptions: [SRTReception] = []
        var socket: SRTSocket?
        /// Callers that were accepted but are not connected yet.
        var admitted: [SRTSOCKET: Admitted] = [:]
        var rejections: UInt64 = 0
        /// Messages that were not reported yet, with the number of repetitions.
        var untold: [String: UInt64] = [:]
        var limit = NoticeLimit()
        /// A message that the limit must not leave out.
        var warning: String?
    }

    private struct Admitted {
        /// When it was accepted, in monotonic nanoseconds.
        let at: Int64
        let network: ClientNetwork
    }

    /// The interval at which connections are accepted; until then they wait in the library.
    private static let interval = DispatchTimeInterval.milliseconds(20)
    /// Time limit for the rest of a handshake after the caller was accepted.
    private static let handshake = Duration.seconds(2).inNanoseconds
    /// Maximum number of accepted callers that are remembered.
    private static let longestMemory = 1000

    /// The options that all streams of the port share: all except ``SRTReception/ownOptions``.
    private let options: [SRTOption: SRTOptionValue]
    private let name: String
    private let keys: StreamKeyGuard
    private let notice: @Sendable (String) -> Void
    private let clock: any MonotonicClock
    private let queue: DispatchQueue
    private let state = Mutex(State())

    /// A listener for streams like the one at `url`. The port is not open yet. `keys` counts the wrong keys of callers.
    /// `notice` is called with messages for an operator, at most 21 times a minute.
    init(
        like url: SRTURL, keys: StreamKeyGuard, clock: any MonotonicClock,
        notice: @escaping @Sendable (String) -> Void
    ) {
        options = Self.shared(url)
        self.keys = keys
        name = "\(URLParts.bracketed(url.host)):\(url.port)"
        self.notice = notice
        self.clock = clock
        queue = DispatchQueue(label: "relay.srt.listen.\(url.port)")
    }

    static func shared(_ url: SRTURL) -> [SRTOption: SRTOptionValue] {
        url.options.filter { !SRTReception.ownOptions.contains($0.key) }
    }

    /// Opens the port at `address`, with the options of `url`.
    func open(_ url: SRTURL, at address: HostAddress) throws(OutputFailure) {
        let hook = SRTListenHook { [weak self] call in self.map { $0.judge(call) } ?? .notFound }
        let socket = try SRTSocket(receiving: url, omitting: SRTReception.ownOptions, hook: hook)
        try socket.bind(to: address, url: url)
        try socket.listen(url)
        state.withLock { $0.socket = socket }
        acceptLater()
    }

    /// Starts to receive a stream. Throws if another stream has the same stream ID, or different shared options.
    func add(_ reception: SRTReception) throws(OutputFailure) {
        let url = reception.url
        guard Self.shared(url) == options else {
            throw SRTServer.failure(
                "\(url): inputs that share a port have the same options, but for stream id, passphrase and latency")
        }
        let isAdded = state.withLock { state in
            guard !state.receptions.contains(where: { $0.wanted == reception.wanted }) else { return false }
            state.receptions.append(reception)
            return true
        }
        if !isAdded { throw SRTServer.failure("\(url): two inputs at this port have the same stream id, or none") }
    }

    /// Stops receiving the stream. Returns whether it was the last stream.
    func remove(_ reception: SRTReception) -> Bool {
        state.withLock { state in
            let count = state.receptions.count
            state.receptions.removeAll { $0 === reception }
            return count > 0 && state.receptions.isEmpty
        }
    }

    /// Closes the port. Connections stay open.
    func close() {
        state.withLock { $0.socket.take() }?.close {}
    }

    /// Number of rejected callers.
    var rejections: UInt64 { state.withLock { $0.rejections } }

    /// The stream that `asked` names: the stream of this name or, without one, a stream that accepts any name.
    private func reception(for asked: SRTStreamID) -> SRTReception? {
        let receptions = state.withLock { $0.receptions }
        // All streams are compared, so that the time does not depend on the match.
        let named = receptions.filter { $0.wanted?.isAnswered(by: asked) == true }
        return named.first ?? receptions.first { $0.wanted == nil }
    }
}

extension SRTListener {
    /// Why a caller is rejected; nil if it is accepted. Runs on the library's receiving thread.
    private func judge(_ call: SRTCall) -> SRTRejection? {
        let asked = SRTStreamID(call.streamID)
        let network = ClientNetwork(call.address)
        let rejection = rejection(of: call, asking: asked, from: network)
        if rejection == .notFound { recordWrongKey(from: network) }
        let now = clock.now
        state.withLock { state in
            if let rejection {
                state.rejections += 1
                state.untold["a caller was sent away with code \(rejection.rawValue), \(rejection)", default: 0] += 1
            } else if state.admitted.count < Self.longestMemory {
                state.admitted[call.socket] = Admitted(at: now, network: network)
            }
        }
        return rejection
    }

    private func rejection(
        of call: SRTCall, asking asked: SRTStreamID, from network: ClientNetwork
    ) -> SRTRejection? {
        if !asked.isStream { return .notSupported }
        if asked.mode == .request { return .badMode }
        // The library answers at once, so a guess cannot be made to wait: above the limit only some are looked at.
        guard keys.admits(network) else { return .tooMany }
        return reception(for: asked).map { $0.judge(call) } ?? .notFound
    }

    private func acceptLater() {
        queue.asyncAfter(deadline: .now() + Self.interval) { [weak self] in self?.accept() }
    }

    /// Accepts callers repeatedly, on the listener's queue, until the port is closed.
    private func accept() {
        guard let socket = state.withLock({ $0.socket }) else { return }
        while let caller = socket.accept() { join(caller) }
        noteFailures()
        tell()
        acceptLater()
    }

    private func join(_ socket: SRTSocket) {
        state.withLock { $0.admitted[socket.handle] = nil }
        let connection = SRTConnection(socket, to: socket.peerAddress, clock: clock)
        guard let reception = reception(for: SRTStreamID(socket.streamID)), reception.offer(connection) else {
            connection.close()
            return note("a caller was sent away, because another was let in just before")
        }
    }

    /// Reports accepted callers whose handshake failed afterwards, because the library does not report this.
    private func noteFailures() {
        let now = clock.now
        let failed = state.withLock { state in
            let old = state.admitted.filter { now - $0.value.at > Self.handshake }
            for socket in old.keys { state.admitted[socket] = nil }
            return old.filter { srt_getsockstate($0.key) != SRTS_CONNECTED }.values.map(\.network)
        }
        for network in failed {
            recordWrongKey(from: network)
            note("a caller was sent away: its passphrase is wrong, or it has one where none is asked for")
        }
    }

    private func recordWrongKey(from network: ClientNetwork) {
        if let report = keys.record(from: network) { state.withLock { $0.warning = report } }
    }

    private func note(_ text: String) {
        state.withLock { state in
            state.rejections += 1
            state.untold[text, default: 0] += 1
        }
    }

    private func tell() {
        let now = clock.now
        let lines = state.withLock { state -> [String] in
            defer { (state.untold, state.warning) = ([:], nil) }
            let lines: [String] = state.untold.compactMap { text, count in
                switch state.limit.admit(at: now) {
                case .passed: "\(name): \(text)" + (count > 1 ? " (\(count) times)" : "")
                case .last: "\(name): more callers were sent away; the rest of this minute is left out"
                case .leftOut: nil
                }
            }
            return lines + (state.warning.map { ["\(name): \($0)"] } ?? [])
        }
        for line in lines { notice(line) }
    }
}
