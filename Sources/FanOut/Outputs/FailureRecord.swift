// SPDX-License-Identifier: Apache-2.0

internal import Media

/// What an output's failures so far mean for its next attempt: where it goes, and after how long. Pure.
struct FailureRecord: Sendable {
    /// What follows from a failure.
    struct Verdict: Equatable {
        var endpoint: OutputEndpoint
        /// When (monotonic nanoseconds).
        var due: Int64
        var isLast: Bool
    }

    private let policy: RetryPolicy
    /// Failures in a row of peers that answered.
    private var answered = 0
    /// Failures in a row of peers that did not answer, but for those soon after the output was on air.
    private var unanswered = 0
    /// When the output was last on air for a while, or else when it was on air at all, if it ever was.
    private var lastLive: Int64?
    /// Failures in a row of any kind.
    private var total = 0
    private var atPrimary = 0
    /// How often in a row the primary was lost soon after the output had come back to it.
    private var earlyLosses = 0
    private var hasJustFailedBack = false
    /// The time until which an endpoint that refused is left alone.
    private var refusedUntil: [OutputEndpoint: Int64] = [:]

    init(policy: RetryPolicy) { self.policy = policy }

    /// Failures in a row of any kind.
    var failuresInRow: Int { total }

    /// How long to stay on the backup before the next probe of the primary.
    var primaryInterval: Duration { policy.primaryInterval * (1 << min(earlyLosses, 4)) }

    /// The output came back to its primary from the backup.
    mutating func returnedToPrimary() {
        hasJustFailedBack = true
        atPrimary = 0
    }

    /// Somebody asked for another try: what was before does not count.
    mutating func reset() { (answered, unanswered, total, atPrimary, refusedUntil) = (0, 0, 0, 0, [:]) }

    /// The output was on air for `liveFor`, up to `now`. A moment says that the address is right, but not that the peer is
    /// about to be back: a server that accepts and crashes would be tried at the first wait for ever.
    mutating func wasLive(for liveFor: Duration, at now: Int64) {
        if liveFor >= policy.backoff.stableAfter || liveFor > .zero && lastLive == nil { lastLive = now }
    }

    /// Takes a failure at `endpoint` in at `now`, after `liveFor` on air, and says what follows. `jitter` is in 0..<1.
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
        let wait = policy.backoff.delay(
            afterFailure: max(1, inRow), kind: failure.kind, past: past, jitter: jitter)
        let again = now + wait.inNanoseconds
        refusedUntil[same] = failure.kind == .refused ? again : nil
        let isLast = policy.attemptLimit.map { total > $0 } ?? false
        guard endpoint == .backup || usesBackup else { return Verdict(endpoint: same, due: again, isLast: isLast) }
        // The other address was not at fault now, so it is tried at once, but not sooner if neither address answers.
        let short =
            failure.kind == .unreachable
            ? wait : policy.backoff.delay(afterFailure: 1, kind: .unreachable, jitter: jitter)
        let elsewhere = max(now + short.inNanoseconds, refusedUntil[other] ?? 0)
        let goesElsewhere = elsewhere <= again || failure.kind != .refused && refusedUntil[other] == nil
        return Verdict(
            endpoint: goesElsewhere ? other : same, due: goesElsewhere ? elsewhere : again, isLast: isLast)
    }

    private func past(at now: Int64) -> Backoff.Past {
        guard let lastLive else { return .neverLive }
        return now - lastLive < policy.backoff.quickFor.inNanoseconds ? .justLost : .lostBefore
    }

    /// From the moment that the primary has failed often enough, attempts alternate between both.
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
