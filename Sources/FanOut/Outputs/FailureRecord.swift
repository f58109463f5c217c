// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides from an output's failures which address the next attempt uses, and how long the output waits before that
/// attempt. It reads no clock and does no I/O.
struct FailureRecord: Sendable {
    /// What must happen after a failure.
    struct Verdict: Equatable {
        var endpoint: OutputEndpoint
        /// When the next attempt must begin.
        var due: MonotonicInstant
        var isLast: Bool
    }

    private let policy: RetryPolicy
    /// The number of consecutive failures in which the peer answered.
    private var answered = 0
    /// The number of consecutive failures in which the peer did not answer. Failures soon after the output went off air
    /// are not counted.
    private var unanswered = 0
    /// When the output last went off air after at least ``Backoff/stableAfter`` on air. If it was never on air for that
    /// long, this is the time when it first went off air. Nil if it was never on air.
    private var lastLive: MonotonicInstant?
    /// The number of consecutive failures of any kind.
    private var total = 0
    private var atPrimary = 0
    /// How many times in a row the output returned from its backup to the primary address and soon lost the connection
    /// at the primary address.
    private var earlyLosses = 0
    private var hasJustFailedBack = false
    /// For each endpoint that refused the stream, the moment before which the endpoint is not tried again.
    private var refusedUntil: [OutputEndpoint: MonotonicInstant] = [:]

    init(policy: RetryPolicy) { self.policy = policy }

    /// The number of consecutive failures of any kind.
    var failuresInRow: Int { total }

    /// How long an output on its backup waits before it probes the primary address again.
    var primaryInterval: Duration { policy.primaryInterval * (1 << min(earlyLosses, 4)) }

    /// Records that the output returned from its backup to its primary address.
    mutating func returnedToPrimary() {
        hasJustFailedBack = true
        atPrimary = 0
    }

    /// Forgets earlier failures, because an operator asked for a retry.
    mutating func reset() { (answered, unanswered, total, atPrimary, refusedUntil) = (0, 0, 0, 0, [:]) }

    /// Records that the output was on air for `liveFor`, until `now`. If this time was short, ``lastLive`` changes only
    /// if the output was on air for the first time, which shows that the address is right. If every short time counted,
    /// a server that accepts the stream and then crashes would always be tried after the shortest wait.
    mutating func wasLive(for liveFor: Duration, at now: MonotonicInstant) {
        if liveFor >= policy.backoff.stableAfter || liveFor > .zero && lastLive == nil { lastLive = now }
    }

    /// Records that an attempt at `endpoint` failed at `now`, after it had been on air for `liveFor`. Returns what must
    /// happen next. `jitter` in 0..<1 varies the wait.
    mutating func note(
        _ failure: OutputFailure, at endpoint: OutputEndpoint, now: MonotonicInstant, liveFor: Duration, jitter: Double
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
        let again = now + wait
        refusedUntil[same] = failure.kind == .refused ? again : nil
        let isLast = policy.attemptLimit.map { total > $0 } ?? false
        guard endpoint == .backup || usesBackup else { return Verdict(endpoint: same, due: again, isLast: isLast) }
        // The other address has not just failed, so the shortest wait is enough before an attempt at that address. But
        // if the failed peer did not answer, the wait is the same for both addresses.
        let short =
            failure.kind == .unreachable
            ? wait : policy.backoff.delay(afterFailure: 1, kind: .unreachable, jitter: jitter)
        let elsewhere = max(now + short, refusedUntil[other] ?? .distantPast)
        let goesElsewhere = elsewhere <= again || failure.kind != .refused && refusedUntil[other] == nil
        return Verdict(endpoint: goesElsewhere ? other : same, due: goesElsewhere ? elsewhere : again, isLast: isLast)
    }

    private func past(at now: MonotonicInstant) -> Backoff.Past {
        guard let lastLive else { return .neverLive }
        return now - lastLive < policy.backoff.quickFor ? .justLost : .lostBefore
    }

    /// Whether the primary address has failed often enough to use the backup as well. Attempts then alternate between
    /// both addresses.
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
