// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import Synchronization

/// A stream that relay receives on a listening port. It hands over the connection of the stream's sender, and later the
/// connection of the next sender. May be used on any thread.
final class SRTReception: Sendable {
    private struct State {
        /// The connection of the stream's current sender. `isTaken` tells whether it was handed over by
        /// ``next(within:)``.
        var connection: SRTConnection?
        var isTaken = false
        var isCancelled = false
    }

    /// The time without media after which another sender that has the passphrase may replace the current one.
    static let takeoverSilence = Duration.seconds(3)
    /// The options that each stream on a shared port has for itself.
    static let ownOptions: Set<SRTOption> = [.streamid, .passphrase, .pbkeylen, .latency, .rcvlatency, .peerlatency]

    let url: SRTURL
    /// The stream ID that a caller must send; nil means that any stream ID is accepted.
    let wanted: SRTStreamID?
    private let state = Mutex(State())
    private let dataAvailable = DispatchSemaphore(value: 0)

    init(_ url: SRTURL) {
        self.url = url
        wanted = url.streamID.map { SRTStreamID($0) }
    }

    /// Returns why a caller may not send the stream now; nil if it may. Sets the options that belong to this stream on
    /// the caller's connection. Runs on the receiving thread of libsrt.
    func judge(_ call: SRTCall) -> SRTRejection? {
        guard state.withLock({ mayBeTaken($0) }) else { return .conflict }
        // The order of the options is fixed, so that a more specific latency option overrides the general one.
        for option in SRTOption.allCases where Self.ownOptions.contains(option) && option != .streamid {
            if let value = url.options[option], !call.apply(value, to: option) { return .internalError }
        }
        return nil
    }

    /// Makes `connection` the stream's current sender. Returns false if another caller has become the sender meanwhile,
    /// or if the stream is cancelled.
    func offer(_ connection: SRTConnection) -> Bool {
        let (isAccepted, former) = state.withLock { state -> (Bool, SRTConnection?) in
            guard mayBeTaken(state) else { return (false, nil) }
            defer { (state.connection, state.isTaken) = (connection, false) }
            return (true, state.connection)
        }
        former?.close(because: "another sender took it over")
        if isAccepted { dataAvailable.signal() }
        return isAccepted
    }

    /// Returns the connection of the current sender, once for each sender. If there is no new sender, waits up to
    /// `time` for one, and returns nil if none comes.
    func next(within time: Duration) -> SRTConnection? {
        let take = { () -> SRTConnection? in
            self.state.withLock { state in
                guard !state.isTaken, let connection = state.connection else { return nil }
                state.isTaken = true
                return connection
            }
        }
        if let connection = take() { return connection }
        _ = dataAvailable.wait(timeout: .now() + .nanoseconds(Int(time.inNanoseconds)))
        return take()
    }

    /// Accepts no sender for the stream from now on, and closes the connection of the current one.
    func cancel() {
        let connection = state.withLock { state in
            state.isCancelled = true
            defer { state.connection = nil }
            return state.connection
        }
        connection?.close()
        dataAvailable.signal()
    }

    private func mayBeTaken(_ state: State) -> Bool {
        if state.isCancelled { return false }
        guard let connection = state.connection, !connection.isOver else { return true }
        return url.takesOver || connection.isSilent(for: Self.takeoverSilence)
    }
}
