// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import Synchronization

/// A stream that a port receives. It provides the connection of the stream's sender, and later that of the next sender.
/// May be used on any thread.
final class SRTReception: Sendable {
    private struct State {
        /// The connection of the stream's sender. `isTaken` is whether it was handed over.
        var connection: SRTConnection?
        var isTaken = false
        var isCancelled = false
    }

    /// If a sender delivers no media for this long, another sender with the passphrase may take over the stream.
    static let takeoverSilence = Duration.seconds(3)
    /// The options that each stream on a shared port has for itself.
    static let ownOptions: Set<SRTOption> = [.streamid, .passphrase, .pbkeylen, .latency, .rcvlatency, .peerlatency]

    let url: SRTURL
    /// The stream ID that a caller must send; nil means that any is accepted.
    let wanted: SRTStreamID?
    private let state = Mutex(State())
    private let news = DispatchSemaphore(value: 0)

    init(_ url: SRTURL) {
        self.url = url
        wanted = url.streamID.map { SRTStreamID($0) }
    }

    /// Returns why a caller may not send the stream now; nil if it may. Sets the stream's own options on the
    /// connection. Runs on the library's receiving thread.
    func judge(_ call: SRTCall) -> SRTRejection? {
        guard state.withLock({ mayBeTaken($0) }) else { return .conflict }
        // The order is fixed, so that a more specific latency overrides the general one.
        for option in SRTOption.allCases where Self.ownOptions.contains(option) && option != .streamid {
            if let value = url.options[option], !call.apply(value, to: option) { return .internalError }
        }
        return nil
    }

    /// Assigns the stream to an accepted caller. Returns false if another caller got the stream meanwhile.
    func offer(_ connection: SRTConnection) -> Bool {
        let (isAccepted, former) = state.withLock { state -> (Bool, SRTConnection?) in
            guard mayBeTaken(state) else { return (false, nil) }
            defer { (state.connection, state.isTaken) = (connection, false) }
            return (true, state.connection)
        }
        former?.close(because: "another sender took it over")
        if isAccepted { news.signal() }
        return isAccepted
    }

    /// Returns the connection of the current sender, only once for each sender; waits for it at most for `time`.
    func next(within time: Duration) -> SRTConnection? {
        let take = { () -> SRTConnection? in
            self.state.withLock { state in
                guard !state.isTaken, let connection = state.connection else { return nil }
                state.isTaken = true
                return connection
            }
        }
        if let connection = take() { return connection }
        _ = news.wait(timeout: .now() + .nanoseconds(Int(time.inNanoseconds)))
        return take()
    }

    /// From now on no client may send the stream.
    func cancel() {
        let connection = state.withLock { state in
            state.isCancelled = true
            defer { state.connection = nil }
            return state.connection
        }
        connection?.close()
        news.signal()
    }

    private func mayBeTaken(_ state: State) -> Bool {
        if state.isCancelled { return false }
        guard let connection = state.connection, !connection.isOver else { return true }
        return url.takesOver || connection.isSilent(for: Self.takeoverSilence)
    }
}
