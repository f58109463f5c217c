// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import Networking
internal import Synchronization

/// One port on which senders connect to relay. The stream ID of a sender decides which stream it delivers. May be used
/// on any thread.
final class SRTListener: Sendable {
    private struct State {
        var receptions: [SRTReception] = []
        var socket: SRTSocket?
        var handshakes = SRTHandshakes()
        var rejections: UInt64 = 0
        /// Messages that were not reported yet, each with the number of times that it occurred.
        var untold: [String: UInt64] = [:]
        var limit = NoticeLimit()
        /// A warning that must be reported even if the limit of messages is reached.
        var warning: String?
    }

    /// The interval at which connected callers are taken from libsrt. Until then they wait in libsrt.
    private static let interval = DispatchTimeInterval.milliseconds(20)

    /// The options that all streams of the port have in common: all except those in ``SRTReception/ownOptions``.
    private let options: [SRTOption: SRTOptionValue]
    private let name: String
    private let keys: StreamKeyGuard
    private let notice: @Sendable (String) -> Void
    private let clock: any MonotonicClock
    private let queue: DispatchQueue
    private let state = Mutex(State())

    /// Creates a listener with the port and the shared options of `url`. The port is not open yet. Callers' wrong
    /// stream IDs and passphrases are counted in `keys`. `notice` is called with messages for an operator: at most 21
    /// times a minute, and in addition for each warning of `keys`.
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

    /// Starts to receive a stream on the port. Throws if the port already has a stream with the same stream ID, or
    /// already has one without a stream ID as this one is, or if its shared options are different.
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

    /// Stops receiving a stream on the port. Returns whether it was the port's last stream.
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

    /// The number of rejected callers.
    var rejections: UInt64 { state.withLock { $0.rejections } }

    /// Returns the stream that a caller with the stream ID `asked` may send. It is the stream with this ID, or else a
    /// stream that accepts any ID; nil if there is neither.
    private func reception(for asked: SRTStreamID) -> SRTReception? {
        let receptions = state.withLock { $0.receptions }
        // All streams are compared, so that the time that this takes does not reveal which one matches.
        let named = receptions.filter { $0.wanted?.isAnswered(by: asked) == true }
        return named.first ?? receptions.first { $0.wanted == nil }
    }
}

extension SRTListener {
    /// Returns why a caller is rejected; nil if it is accepted. Runs on the receiving thread of libsrt.
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
            } else {
                state.handshakes.begin(call.socket, from: network, at: now)
            }
        }
        return rejection
    }

    private func rejection(
        of call: SRTCall, asking asked: SRTStreamID, from network: ClientNetwork
    ) -> SRTRejection? {
        if !asked.isStream { return .notSupported }
        if asked.mode == .request { return .badMode }
        // libsrt needs the decision at once, so a caller that guesses stream IDs cannot be made to wait. If too many
        // wrong stream IDs came from a network, only some of its requests are considered, and all others are rejected.
        guard keys.admits(network) else { return .tooMany }
        return reception(for: asked).map { $0.judge(call) } ?? .notFound
    }

    private func acceptLater() {
        queue.asyncAfter(deadline: .now() + Self.interval) { [weak self] in self?.accept() }
    }

    /// Takes connected callers from libsrt and reports messages. Runs every 20 ms on the listener's queue until the
    /// port is closed.
    private func accept() {
        guard let socket = state.withLock({ $0.socket }) else { return }
        while let caller = socket.accept() { join(caller) }
        noteFailures()
        tell()
        acceptLater()
    }

    private func join(_ socket: SRTSocket) {
        state.withLock { $0.handshakes.complete(socket.handle) }
        let connection = SRTConnection(socket, to: socket.peerAddress, clock: clock)
        guard let reception = reception(for: SRTStreamID(socket.streamID)), reception.offer(connection) else {
            connection.close()
            return note("a caller was sent away, because another was let in just before")
        }
    }

    /// Reports callers whose handshake failed after their request was accepted, because libsrt does not report this.
    private func noteFailures() {
        let now = clock.now
        let failed = state.withLock {
            $0.handshakes.takeFailures(at: now, isConnected: SRTHandshakes.isConnected)
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
