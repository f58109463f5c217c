// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Counts the wrong stream keys, stream IDs and passphrases that clients of a server show, and limits how fast they can
/// be guessed.
///
/// Any thread may use it; all calls return at once.
package final class StreamKeyGuard: Sendable {
    private struct State {
        var limit = GuessLimit()
        var wrongKeys: UInt64 = 0
        /// Wrong keys since the last report, and when the next report may follow.
        var unreported = 0
        var nextReport = Int64.min
    }

    private static let reportInterval = Duration.seconds(60).inNanoseconds

    private let clock: any MonotonicClock
    private let state = Mutex(State())

    /// A guard that has seen no wrong key.
    package init(clock: any MonotonicClock = SystemClock()) { self.clock = clock }

    /// How many wrong keys were shown.
    package var wrongKeys: UInt64 { state.withLock { $0.wrongKeys } }

    /// Whether so many wrong keys came from `network` that a client there must wait.
    package func isLimited(_ network: ClientNetwork) -> Bool {
        let now = clock.now
        return state.withLock { $0.limit.isReached(by: network, at: now) }
    }

    /// Whether the key of a client from `network` may be examined now. See ``GuessLimit/admits(_:at:)``.
    package func admits(_ network: ClientNetwork) -> Bool {
        let now = clock.now
        return state.withLock { $0.limit.admits(network, at: now) }
    }

    /// Counts a wrong key from `network`. Returns a sentence to log when a network guesses keys, once a minute at most.
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
