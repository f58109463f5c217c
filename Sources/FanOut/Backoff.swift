// SPDX-License-Identifier: Apache-2.0

internal import Media

/// How long an output waits before its next attempt.
///
/// A peer that answers and fails is spared: the wait grows by half each time, up to 15 s. A peer that does not answer
/// costs nobody anything, so it is tried again each second, and the output is back within a second of the peer's
/// return. A permanent refusal is tried once a minute.
///
/// | consecutive failure | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 and later |
/// |---|---|---|---|---|---|---|---|---|
/// | peer answered, seconds before jitter | 1 | 1.5 | 2.25 | 3.4 | 5.1 | 7.6 | 11.4 | 15 |
public struct Backoff: Sendable, Equatable {
    /// The first wait.
    public var base: Duration
    /// The longest wait after a peer that answered.
    public var cap: Duration
    /// The wait after a permanent refusal.
    public var refusedInterval: Duration
    /// How long an output must have been on air for all its failures to be forgotten.
    public var resetAfter: Duration
    /// How long an output must have been on air for a loss to be the network's doing, and not a server's that accepts a
    /// stream only to drop it.
    public var stableAfter: Duration

    /// A schedule of these values.
    public init(
        base: Duration = .seconds(1), cap: Duration = .seconds(15), refusedInterval: Duration = .seconds(60),
        resetAfter: Duration = .seconds(30), stableAfter: Duration = .seconds(3)
    ) {
        self.base = base
        self.cap = cap
        self.refusedInterval = refusedInterval
        self.resetAfter = resetAfter
        self.stableAfter = stableAfter
    }

    /// The wait after the `failures`-th consecutive failure (1 is the first). `jitter` in 0..<1 takes up to a fifth
    /// off, so that outputs that failed together do not return together.
    public func delay(afterFailure failures: Int, kind: OutputFailure.Kind, jitter: Double) -> Duration {
        let full: Duration =
            switch kind {
            case .unreachable: base
            case .lost, .rejected: grown(failures)
            case .refused: refusedInterval
            }
        return full * (1 - 0.2 * min(max(jitter, 0), 1))
    }

    private func grown(_ failures: Int) -> Duration {
        var delay = base
        for _ in 1..<max(2, failures) where failures > 1 {
            delay = delay * 1.5
            if delay >= cap { return cap }
        }
        return min(delay, cap)
    }
}
