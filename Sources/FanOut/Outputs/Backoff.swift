// SPDX-License-Identifier: Apache-2.0

package import Media

/// Computes how long an output waits before its next attempt.
///
/// The wait grows by half with each consecutive failure, up to a limit that depends on the peer's behavior. If the peer
/// does not answer, the output tries every second during the first 30 s after it went off air. So an output is on air
/// again within a second after its peer has restarted. After a permanent refusal the output tries once a minute.
///
/// | consecutive failure | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 and later |
/// |---|---|---|---|---|---|---|---|---|
/// | the peer answered, seconds before jitter | 1 | 1.5 | 2.25 | 3.4 | 5.1 | 7.6 | 11.4 | 15 |
/// | no answer, and the output was never on air | 1 | 1.5 | 2.25 | 3.4 | 5.1 | 7.6 | 11.4 | 15 |
/// | no answer, more than 30 s after the output went off air | 1 | 1.5 | 2.25 | 3.4 | 5 | 5 | 5 | 5 |
/// | no answer, within 30 s after the output went off air | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 1 |
package struct Backoff: Sendable, Equatable {
    /// Whether and when an output was on air. This matters only if the peer does not answer now.
    package enum Past: Sendable, Equatable {
        /// The output was never on air, so its address may be wrong.
        case neverLive
        /// The output went off air less than ``Backoff/quickFor`` ago, so the peer may be restarting.
        case justLost
        /// The output went off air ``Backoff/quickFor`` ago or longer ago.
        case lostBefore
    }

    /// The wait between the first failure and the next attempt.
    package var base = Duration.seconds(1)
    /// The maximum wait if the peer answered, or if the output was never on air.
    package var cap = Duration.seconds(15)
    /// The maximum wait if the peer does not answer but has accepted the stream before.
    package var lostCap = Duration.seconds(5)
    /// How long after going off air the wait stays at ``base`` if the peer does not answer.
    package var quickFor = Duration.seconds(30)
    /// The wait between a permanent refusal and the next attempt.
    package var refusedInterval = Duration.seconds(60)
    /// If the output was on air for at least this time, the failures before it went on air no longer lengthen the wait.
    package var resetAfter = Duration.seconds(30)
    /// If a connection is lost after at least this time on air, the network counts as the cause. If it is lost earlier,
    /// the cause is taken to be a server that accepts the stream and then drops it.
    package var stableAfter = Duration.seconds(3)

    /// The wait after consecutive failure number `failures`; the first failure has number 1. `past` is used only if the
    /// peer does not answer. `jitter` in 0..<1 shortens the wait by up to a fifth, so that outputs that failed together
    /// do not all try again at the same moment.
    package func delay(
        afterFailure failures: Int, kind: OutputFailure.Kind, past: Past = .neverLive, jitter: Double
    ) -> Duration {
        let full: Duration =
            switch (kind, past) {
            case (.unreachable, .justLost): base
            case (.unreachable, .lostBefore): grown(failures, to: lostCap)
            case (.unreachable, .neverLive), (.lost, _), (.rejected, _): grown(failures, to: cap)
            case (.refused, _): refusedInterval
            }
        return full * (1 - 0.2 * min(max(jitter, 0), 1))
    }

    private func grown(_ failures: Int, to cap: Duration) -> Duration {
        var delay = base
        for _ in 1..<max(2, failures) where failures > 1 {
            delay = delay * 1.5
            if delay >= cap { return cap }
        }
        return min(delay, cap)
    }
}
