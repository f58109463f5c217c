// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Counts the wrong stream keys, stream IDs and passphrases that a server's clients present, and limits how fast
/// clients can guess them.
///
/// Any thread may use it; all calls return at once.
package final class StreamKeyGuard: Sendable {
    private struct State {
        var limit = GuessLimit()
        var wrongKeys: UInt64 = 0
        /// The number of wrong keys since the last report, and the earliest time of the next report.
        var unreported = 0
        var nextReport = MonotonicInstant.distantPast
    }

    private static let reportInterval = Duration.seconds(60)

    private let clock: any MonotonicClock
    private let state = Mutex(State())

    /// A guard that has counted no wrong key.
    package init(clock: any MonotonicClock = SystemClock()) { self.clock = clock }

    /// The number of wrong keys that clients have presented.
    package var wrongKeys: UInt64 { state.withLock { $0.wrongKeys } }

    /// Whether clients of `network` have presented so many wrong keys that all clients of this network must wait.
    package func isLimited(_ network: ClientNetwork) -> Bool {
        let now = clock.now
        return state.withLock { $0.limit.isReached(by: network, at: now) }
    }

    /// Whether a key from a client in `network` may be checked now. See ``GuessLimit/admits(_:at:)``.
    package func admits(_ network: ClientNetwork) -> Bool {
        let now = clock.now
        return state.withLock { $0.limit.admits(network, at: now) }
    }

    /// Counts a wrong key from `network`. If the network guesses keys, returns a sentence for the log, at most once a
    /// minute.
    package func record(from network: ClientNetwork) -> String? {
        let now = clock.now
        return state.withLock { state in
            state.wrongKeys += 1
            state.unreported += 1
            guard state.limit.record(from: network, at: now), now >= state.nextReport else { return nil }
            defer { (state.unreported, state.nextReport) = (0, now + Self.reportInterval) }
            return "stream keys are being guessed: \(state.unreported) wrong ones were shown, the last from \(network)"
        }
    }
}
