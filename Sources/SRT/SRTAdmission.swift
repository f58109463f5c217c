// SPDX-License-Identifier: Apache-2.0

internal import CSRT
package import Media
package import Networking
internal import Synchronization

/// Decides during the handshake which receivers a listening output accepts.
///
/// libsrt calls ``judge(_:from:on:)`` on its receiving thread, which serves every socket of the port. No method of this
/// type may therefore block.
package final class SRTAdmission: Sendable {
    private struct State {
        var callers = 0
        var rejections: UInt64 = 0
        var last: SRTRejection?
        /// The warning about guessed stream IDs or passphrases that must be logged next; nil if nothing must be logged.
        var warning: String?
        var handshakes = SRTHandshakes()

        mutating func count(_ rejection: SRTRejection) {
            rejections += 1
            last = rejection
        }
    }

    private let wanted: SRTStreamID?
    private let maximum: Int
    private let keys: StreamKeyGuard
    private let clock: any MonotonicClock
    private let state = Mutex(State())

    /// Accepts at most `maximum` receivers at a time. If `wanted` is given, accepts only receivers that request this
    /// stream ID. Wrong stream IDs and passphrases are counted in `keys`, which also limits how fast a network may try
    /// stream IDs.
    package init(
        wanted: SRTStreamID?, maximum: Int, keys: StreamKeyGuard, clock: any MonotonicClock = SystemClock()
    ) {
        self.wanted = wanted
        self.maximum = maximum
        self.keys = keys
        self.clock = clock
    }

    /// Sets the number of receivers that are on air. The code that accepts receivers calls this.
    package func setCallers(_ count: Int) { state.withLock { $0.callers = count } }

    /// The number of rejected callers, and the reason for the last rejection; nil before the first one.
    package var rejections: (count: UInt64, last: SRTRejection?) { state.withLock { ($0.rejections, $0.last) } }

    /// Returns a sentence for the log if a network guesses stream IDs or passphrases, at most once a minute.
    package func takeWarning() -> String? { state.withLock { $0.warning.take() } }

    /// Records that the handshake of `socket` is complete. The code that accepts receivers calls this.
    package func connected(_ socket: SRTSocket) { state.withLock { $0.handshakes.complete(socket.handle) } }

    /// Counts receivers whose handshakes were not complete two seconds after their requests were accepted, which
    /// usually means that their passphrase is wrong. Returns how many there were since the last call.
    package func countFailures() -> Int { countFailures(isConnected: SRTHandshakes.isConnected) }

    func countFailures(isConnected: (SRTSOCKET) -> Bool) -> Int {
        let now = clock.now
        let failed = state.withLock { $0.handshakes.takeFailures(at: now, isConnected: isConnected) }
        for network in failed {
            let warning = keys.record(from: network)
            state.withLock { $0.warning = warning ?? $0.warning }
        }
        return failed.count
    }

    /// Returns why a receiver with the stream ID `text`, which calls from `address` on `socket`, is rejected; nil if it
    /// is accepted. libsrt still checks the passphrase of an accepted receiver.
    func judge(_ text: String, from address: IPAddress?, on socket: SRTSOCKET? = nil) -> SRTRejection? {
        let network = ClientNetwork(address)
        let rejection = refusal(of: SRTStreamID(text), from: network)
        let warning = rejection == .notFound ? keys.record(from: network) : nil
        let now = clock.now
        return state.withLock { state in
            let rejection = rejection ?? (state.callers >= maximum ? .overload : nil)
            if let rejection {
                state.count(rejection)
            } else if let socket {
                state.handshakes.begin(socket, from: network, at: now)
            }
            state.warning = warning ?? state.warning
            return rejection
        }
    }

    /// Counts a receiver that was accepted and then closed, because too many receivers were connected by then.
    package func countOverload() { state.withLock { $0.count(.overload) } }

    private func refusal(of asked: SRTStreamID, from network: ClientNetwork) -> SRTRejection? {
        if asked.mode == .publish { return .badMode }
        if !asked.isStream { return .notSupported }
        guard let wanted else { return nil }
        // As at an input, only some requests from a network that guesses stream IDs are considered, see `SRTListener`.
        guard keys.admits(network) else { return .tooMany }
        return wanted.isAnswered(by: asked) ? nil : .notFound
    }
}
