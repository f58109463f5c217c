// SPDX-License-Identifier: Apache-2.0

internal import Media

// The candidate: a second attempt while another attempt is on air.
extension OutputStateMachine {
    /// The maximum number of redirections within ``redirectionMemory``. Further requests are ignored, because some
    /// servers redirect an output back and forth.
    private static let redirectionLimit = 3
    private static let redirectionMemory = Duration.seconds(30)

    mutating func redirect(_ attempt: Int, at now: MonotonicInstant) -> [Action] {
        redirections.removeAll { now - $0 >= Self.redirectionMemory }
        guard redirections.count < Self.redirectionLimit else { return [] }
        redirections.append(now)
        // If another candidate is running already, this redirection is remembered for the next attempt. The server
        // still accepts the stream for a while.
        if candidate != nil, attempt == current?.attempt { hasUnmetRedirection = true }
        return beginCandidate(besides: attempt, at: .redirected)
    }

    mutating func probePrimary() -> [Action] {
        guard let current, current.isAway else { return [] }
        return candidate == nil ? beginCandidate(besides: current.attempt, at: .primary) : arrangeLook(from: current)
    }

    private mutating func beginCandidate(besides attempt: Int, at endpoint: OutputEndpoint) -> [Action] {
        guard let current, attempt == current.attempt, case .live = state, candidate == nil else { return [] }
        attempts += 1
        candidate = Connection(attempt: attempts, endpoint: endpoint, isAway: endpoint == .redirected && current.isAway)
        return [.begin(attempt: attempts, at: endpoint)]
    }

    mutating func candidateAccepted(at now: MonotonicInstant) -> [Action] {
        guard let next = candidate, next.liveSince == nil else { return [] }
        candidate?.liveSince = now
        return [.handOver(to: next.attempt)]
    }

    mutating func handedOver(_ attempt: Int, at now: MonotonicInstant) -> [Action] {
        guard var next = candidate, next.attempt == attempt, next.liveSince != nil, case .live = state else {
            return []
        }
        noteLive(until: now)
        next.liveSince = now
        take(next)
        state = .live(since: now)
        return arrangeLook(from: next)
    }

    private mutating func take(_ next: Connection) {
        if next.endpoint == .primary { record.returnedToPrimary() }
        (current, candidate, hasUnmetRedirection) = (next, nil, false)
        connections += 1
    }

    mutating func candidateFailed(_ failure: OutputFailure) -> [Action] {
        guard let failed = candidate else { return [] }
        candidate = nil
        lastFailure = failure
        // The redirected address may have rejected the candidate because many servers allow only one publisher. So this
        // address is tried again when the old connection has ended.
        if failed.endpoint == .redirected, failure.kind == .rejected { hasUnmetRedirection = true }
        return [.abandon(attempt: failed.attempt)] + (current.map { arrangeLook(from: $0) } ?? [])
    }

    /// Makes the candidate `next` the output's only attempt, because the attempt on air failed.
    mutating func promote(_ next: Connection, insteadOf attempt: Int) -> [Action] {
        let actions: [Action] = [.abandon(attempt: attempt), .promote(attempt: next.attempt)]
        guard let since = next.liveSince else {
            (current, candidate) = (next, nil)
            state = .connecting(attempt: next.attempt)
            return actions
        }
        take(next)
        state = .live(since: since)
        return actions + [.goLive(attempt: next.attempt)] + arrangeLook(from: next)
    }

    /// If the output must return to its primary address, schedules the next probe of that address. Probes that were
    /// scheduled earlier are ignored from then on.
    mutating func arrangeLook(from connection: Connection) -> [Action] {
        guard connection.isAway else { return [] }
        probes += 1
        return [.probe(after: record.primaryInterval, number: probes)]
    }
}
