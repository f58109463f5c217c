// SPDX-License-Identifier: Apache-2.0

internal import Media

// A second attempt beside the one that is on air.
extension OutputStateMachine {
    mutating func lookAtPrimary() -> [Action] {
        guard let current, current.site == .backup else { return [] }
        return beginCandidate(besides: current.attempt, at: .primary)
    }

    mutating func beginCandidate(besides attempt: Int, at site: OutputSite) -> [Action] {
        guard attempt == current?.attempt, case .live = state, candidate == nil else { return [] }
        attempts += 1
        candidate = Connection(attempt: attempts, site: site)
        return [.begin(attempt: attempts, at: site)]
    }

    mutating func candidateAccepted(at now: Int64) -> [Action] {
        guard let next = candidate, next.liveSince == nil else { return [] }
        candidate?.liveSince = now
        return [.handOver(to: next.attempt)]
    }

    mutating func handedOver(_ attempt: Int, at now: Int64) -> [Action] {
        guard var next = candidate, next.attempt == attempt, next.liveSince != nil, case .live = state else {
            return []
        }
        next.liveSince = now
        if next.site == .primary { record.returnedToPrimary() }
        (current, candidate) = (next, nil)
        connections += 1
        state = .live(since: now)
        return []
    }

    mutating func candidateFailed(_ failure: OutputFailure) -> [Action] {
        guard let failed = candidate else { return [] }
        candidate = nil
        lastFailure = failure
        return [.abandon(attempt: failed.attempt)] + (failed.site == .primary ? current.map(looks) ?? [] : [])
    }

    /// The attempt on air failed while a candidate is under way: that one goes on as the only one.
    mutating func promote(_ next: Connection, insteadOf attempt: Int) -> [Action] {
        (current, candidate) = (next, nil)
        let actions: [Action] = [.abandon(attempt: attempt), .promote(attempt: next.attempt)]
        guard let since = next.liveSince else {
            state = .connecting(attempt: next.attempt)
            return actions
        }
        connections += 1
        state = .live(since: since)
        return actions + [.goLive(attempt: next.attempt)]
    }

    /// On the backup the primary is looked at from time to time.
    func looks(from connection: Connection) -> [Action] {
        connection.site == .backup ? [.look(after: record.primaryInterval, attempts: attempts)] : []
    }
}
