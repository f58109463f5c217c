// SPDX-License-Identifier: Apache-2.0

internal import Media

/// What an output's failures so far mean for its next attempt: where it goes, and after how long. Pure.
struct FailureRecord: Sendable {
    /// What follows from a failure.
    struct Verdict: Equatable {
        var site: OutputSite
        /// When (monotonic nanoseconds).
        var due: Int64
        var isLast: Bool
    }

    private let policy: RetryPolicy
    /// Failures in a row of peers that answered; one that does not answer has done nothing to be spared for.
    private var answered = 0
    /// Failures in a row of any kind.
    private var total = 0
    private var atPrimary = 0
    /// How often in a row the primary was lost soon after the output had come back to it.
    private var relapses = 0
    private var isOnProbation = false
    /// Until when a site that refused is left alone.
    private var refusedUntil: [OutputSite: Int64] = [:]

    init(policy: RetryPolicy) { self.policy = policy }

    /// How long to stay on the backup before the next look at the primary.
    var primaryInterval: Duration { policy.primaryInterval * (1 << min(relapses, 4)) }

    /// The output came back to its primary from the backup.
    mutating func returnedToPrimary() {
        isOnProbation = true
        atPrimary = 0
    }

    /// Somebody asked for another try: what was before does not count.
    mutating func forgive() { (answered, total, atPrimary, refusedUntil) = (0, 0, 0, [:]) }

    /// Takes a failure at `site` in at `now`, after `liveFor` on air, and says what follows. `jitter` is in 0..<1.
    mutating func note(
        _ failure: OutputFailure, at site: OutputSite, now: Int64, liveFor: Duration, jitter: Double
    ) -> Verdict {
        let wasSettled = failure.kind == .lost && liveFor >= policy.backoff.settledAfter
        let wasSteady = liveFor >= policy.backoff.resetAfter
        if failure.kind == .unreachable || wasSettled || wasSteady { answered = 0 }
        if failure.kind != .unreachable { answered += 1 }
        total = wasSettled || wasSteady ? 1 : total + 1
        noteSite(failure, site: site, wasSettled: wasSettled, wasSteady: wasSteady)
        let (same, other): (OutputSite, OutputSite) = site == .backup ? (.backup, .primary) : (.primary, .backup)
        let wait = policy.backoff.delay(afterFailure: max(1, answered), kind: failure.kind, jitter: jitter)
        let again = now + wait.inNanoseconds
        refusedUntil[same] = failure.kind == .refused ? again : nil
        let isLast = policy.attemptLimit.map { total > $0 } ?? false
        guard site == .backup || usesBackup else { return Verdict(site: same, due: again, isLast: isLast) }
        // The other address has done nothing now to be spared for.
        let short = policy.backoff.delay(afterFailure: 1, kind: .unreachable, jitter: jitter)
        let elsewhere = max(now + short.inNanoseconds, refusedUntil[other] ?? 0)
        let goesElsewhere = elsewhere <= again || failure.kind != .refused && refusedUntil[other] == nil
        return Verdict(
            site: goesElsewhere ? other : same, due: goesElsewhere ? elsewhere : again, isLast: isLast)
    }

    /// From the moment that the primary has failed often enough, attempts alternate between both.
    private var usesBackup: Bool { policy.hasBackup && atPrimary >= policy.backupAfter }

    private mutating func noteSite(_ failure: OutputFailure, site: OutputSite, wasSettled: Bool, wasSteady: Bool) {
        guard site != .backup else { return }
        if wasSettled || wasSteady { atPrimary = 0 }
        atPrimary += 1
        if failure.kind == .refused { atPrimary = max(atPrimary, policy.backupAfter) }
        guard isOnProbation else { return }
        isOnProbation = false
        if wasSteady {
            relapses = 0
        } else {
            relapses += 1
            atPrimary = max(atPrimary, policy.backupAfter)
        }
    }
}
