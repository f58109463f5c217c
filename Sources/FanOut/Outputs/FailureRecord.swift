// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides from an output's failures which address the next attempt uses, and how long the output waits before it.
/// Pure.
struct FailureRecord: Sendable {
    /// The consequence of a failure.
    struct Verdict: Equatable {
        var endpoint: OutputEndpoint
        /// When the next attempt is due (monotonic nanoseconds).
        var due: Int64
        var isLast: Bool
    }

    private let policy: RetryPolicy
    /// Consecutive failures with peers that answered.
    private var answered = 0
    /// Consecutive failures with peers that did not answer, except for those soon after the output was on air.
    private var unanswered = 0
    /// When the output last went off air after at least ``Backoff/stableAfter`` on air; until then, when it first went
    /// off air. Nil if it was never on air.
    private var lastLive: Int64?
    /// Consecutive failures of any kind.
    private var total = 0
    private var atPrimary = 0
    /// How many times in a row the primary was lost soon after the output returned to it.
    private var earlyLosses = 0
    private var hasJustFailedBack = false
    /// The time until which an endpoint that refused is not tried.
    private var refusedUntil: [OutputEndpoint: Int64] = [:]

    init(policy: RetryPolicy) { self.policy = policy }

    /// Consecutive failures of any kind.
    var failuresInRow: Int { total }

    /// How long the output stays on the backup before the next probe of the primary.
    var primaryInterval: Duration { policy.primaryInterval * (1 << min(earlyLosses, 4)) }

    /// The output returned to its primary from the backup.
    mutating func returnedToPrimary() {
        hasJustFailedBack = true
        atPrimary = 0
    }

    /// An operator asked for a retry: earlier failures do not count.
    mutating func reset() { (answered, unanswered, total, atPrimary, refusedUntil) = (0, 0, 0, 0, [:]) }

    /// The output was on air for `liveFor`, until `now`. A short time on air proves that the address is right, but not
    /// that the peer will soon be back: otherwise a server that accepts and crashes would always be tried after the
    /// first wait.
    mutating func wasLive(for liveFor: Duration, at now: Int64) {
        if liveFor >= policy.backoff.stableAfter || liveFor > .zero && lastLive == nil { lastLive = now }
    }

    /// Records a failure at `endpoint` at `now`, after `liveFor` on air, and returns the consequence. `jitter` is in
    /// 0..<1.
    mutating func note(
        _ failure: OutputFailure, at endpoint: OutputEndpoint, now: Int64, liveFor: Duration, jitter: Double
    ) -> Verdict {
        let wasStable = failure.kind == .lost && liveFor >= policy.backoff.stableAfter
        let wasSteady = liveFor >= policy.backoff.resetAfter
        if failure.kind == .unreachable || wasStable || wasSteady { answered = 0 }
        if failure.kind != .unreachable { (answered, unanswered) = (answered + 1, 0) }
        wasLive(for: liveFor, at: now)
        let past = past(at: now)
        if failure.kind == .unreachable, past != .justLost { unanswered += 1 }
        total = wasStable || wasSteady ? 1 : total + 1
        noteEndpoint(failure, endpoint: endpoint, wasStable: wasStable, wasSteady: wasSteady)
        let (same, other): (OutputEndpoint, OutputEndpoint) =
            endpoint == .backup ? (.backup, .primary) : (.primary, .backup)
        let inRow = failure.kind == .unreachable ? unanswered : answered
        let wait = policy.backoff.delay(afterFailure: max(1, inRow), kind: failure.kind, past: past, jitter: jitter)
        let again = now + wait.inNanoseconds
        refusedUntil[same] = failure.kind == .refused ? again : nil
        let isLast = policy.attemptLimit.map { total > $0 } ?? false
        guard endpoint == .backup || usesBackup else { return Verdict(endpoint: same, due: again, isLast: isLast) }
        // The other address did not fail now, so the first wait is long enough; but if the failed peer did not answer,
        // its wait applies.
        let short =
            failure.kind == .unreachable
            ? wait : policy.backoff.delay(afterFailure: 1, kind: .unreachable, jitter: jitter)
        let elsewhere = max(now + short.inNanoseconds, refusedUntil[other] ?? 0)
        let goesElsewhere = elsewhere <= again || failure.kind != .refused && refusedUntil[other] == nil
        return Verdict(endpoint: goesElsewhere ? other : same, due: goesElsewhere ? elsewhere : again, isLast: isLast)
    }

    private func past(at now: Int64) -> Backoff.Past {
        guard let lastLive else { return .neverLive }
        return now - lastLive < policy.backoff.quickFor.inNanoseconds ? .justLost : .lostBefore
    }

    /// After enough failures of the primary, attempts alternate between primary and backup.
    private var usesBackup: Bool { policy.hasBackup && atPrimary >= policy.backupAfter }

    private mutating func noteEndpoint(
        _ failure: OutputFailure, endpoint: OutputEndpoint, wasStable: Bool, wasSteady: Bool
    ) {
        guard endpoint != .backup else { return }
        if wasStable || wasSteady { atPrimary = 0 }
        atPrimary += 1
        if failure.kind == .refused { atPrimary = max(atPrimary, policy.backupAfter) }
        guard hasJustFailedBack else { return }
        hasJustFailedBack = false
        if wasSteady {
            earlyLosses = 0
        } else {
            earlyLosses += 1
            atPrimary = max(atPrimary, policy.backupAfter)
        }
    }
}
