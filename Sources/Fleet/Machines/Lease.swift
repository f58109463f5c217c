// SPDX-License-Identifier: Apache-2.0

package import Media

/// The state machine of a host's lease in the fleet's store. It handles events and returns actions for its owner. It does
/// no I/O and reads no clock.
///
/// A host has one lease, with which all its claims end. So the store gets as many keep-alives as there are hosts, however
/// many channels they hold.
///
/// The rule of the holder: nothing is sent later than the *start* of the last confirmed keep-alive request, plus the
/// lease's time, minus the margin. The store renews a lease after the request's start and before its answer. So only the
/// start is certainly not later than the renewal, and the lease ends in the store after the host's window of sending.
/// So an answer that comes late extends the window only from its request's start, and perhaps not at all.
///
/// Once the window has passed, the lease is given up and revoked, and the host asks for a new lease. A confirmation after
/// that moment changes nothing: the channel may already have another holder.
///
/// Transitions: `idle → granting → held → granting`, and from any state to `ended`.
package struct Lease: Sendable {
    /// What a host does while no endpoint of the store answers.
    package enum QuorumLoss: String, Sendable, CaseIterable {
        /// The host stops sending at the end of its window. So two hosts never send the same channel.
        case stop
        /// The host continues to send, because a keep-alive without an answer extends its window, too. If only this
        /// host is cut off, another host takes its channels meanwhile, and both send.
        case keep
    }

    /// The state of the lease.
    package enum State: Sendable, Equatable {
        /// The host has not started.
        case idle
        /// The host asks for a lease.
        case granting
        /// The host has this lease, and may send until this time.
        case held(lease: Int64, until: MonotonicInstant)
        /// The host has stopped.
        case ended
    }

    /// Why a lease was lost.
    package enum Loss: Sendable, Equatable {
        /// The store says that the lease does not exist any more.
        case gone
        /// No keep-alive was confirmed in time.
        case unconfirmed
        /// The host ends.
        case ended
    }

    /// An event that the machine handles.
    package enum Event: Sendable, Equatable {
        /// The host must get a lease.
        case start
        /// The request with this number has this answer. The machine ignores a second answer.
        case answered(request: Int, StoreAnswer)
        /// The time ``Lease/due`` has come.
        case time
        /// The host has stopped its channels. The lease must end.
        case end
    }

    /// An action that the owner must carry out.
    package enum Action: Sendable, Equatable {
        /// Send the request with this number to the endpoint with this index. The owner may end it after the time-out.
        case ask(request: Int, StoreRequest, endpoint: Int)
        /// The host has this new lease. It may send until `until`.
        case obtained(lease: Int64, until: MonotonicInstant)
        /// The host may send until `until`.
        case extended(until: MonotonicInstant)
        /// Close all windows of sending at once, before any later action is carried out.
        case lost(lease: Int64, Loss)
    }

    /// A grant or keep-alive that was sent.
    private struct Sent: Sendable {
        var start: MonotonicInstant
        /// The lease to keep alive; nil for a grant.
        var lease: Int64?
        var endpoint: Int
    }

    private let timing: FleetTiming
    private let quorumLoss: QuorumLoss
    private let endpoints: Int
    /// The present state.
    package private(set) var state = State.idle
    /// The index of the endpoint for the next request.
    package private(set) var endpoint = 0
    /// The number of requests in a row that had no answer.
    private var failures = 0
    /// Requests without an answer. The newest is ``open``; others have timed out, and their answers may still come.
    private var sent: [Int: Sent] = [:]
    /// The request on which the machine waits.
    private var open: Int?
    private var requests = 0
    /// When the next request must start, if none is open.
    private var next = MonotonicInstant.zero

    /// The lease of a host that reaches its store by this number of endpoints.
    package init(timing: FleetTiming = FleetTiming(), quorumLoss: QuorumLoss = .stop, endpoints: Int = 1) {
        (self.timing, self.quorumLoss, self.endpoints) = (timing, quorumLoss, max(1, endpoints))
    }

    /// The lease's number while the host has one.
    package var lease: Int64? { if case .held(let lease, _) = state { lease } else { nil } }

    /// The end of the window of sending; nil without a lease.
    package var sendingEnds: MonotonicInstant? { if case .held(_, let until) = state { until } else { nil } }

    /// When the owner must report ``Event/time``; nil if it need not.
    package var due: MonotonicInstant? {
        guard state != .idle, state != .ended else { return nil }
        let request = open.flatMap { sent[$0] }.map { $0.start + timing.requestTimeout } ?? next
        return min(request, sendingEnds ?? .distantFuture)
    }

    /// Handles an event that happens at `now`, and returns the actions to carry out, in order.
    package mutating func handle(_ event: Event, at now: MonotonicInstant) -> [Action] {
        switch event {
        case .start:
            guard state == .idle else { return [] }
            (state, next) = (.granting, now)
            return proceed(at: now)
        case .answered(let request, let answer):
            // The window is judged before the answer: a process that was stopped finds answers that came meanwhile.
            let actions = proceed(at: now, sends: false)
            return actions + answered(request, answer, at: now) + proceed(at: now)
        case .time: return proceed(at: now)
        case .end: return end()
        }
    }

    /// Records that another request to `failed` had no answer, so that the next request uses another endpoint.
    package mutating func endpointFailed(_ failed: Int) {
        if failed == endpoint { endpoint = (endpoint + 1) % endpoints }
    }

    /// Does what the time demands: ends the lease or a request, or sends the next request.
    private mutating func proceed(at now: MonotonicInstant, sends: Bool = true) -> [Action] {
        guard state != .idle, state != .ended else { return [] }
        var actions: [Action] = []
        // A window that has passed stays closed, even if the host keeps sending without the store: a process that was
        // stopped for so long does not know what has happened meanwhile.
        if case .held(_, let until) = state, now >= until { actions += lose(.unconfirmed, at: now) }
        if let open, let request = sent[open], now >= request.start + timing.requestTimeout {
            self.open = nil
            actions += failed(request, at: now)
        }
        guard sends, open == nil, now >= next else { return actions }
        return actions + [send(at: now)]
    }

    /// Sends the next grant or keep-alive.
    private mutating func send(at now: MonotonicInstant) -> Action {
        requests += 1
        open = requests
        sent[requests] = Sent(start: now, lease: lease, endpoint: endpoint)
        // Answers to older requests are ignored: a window counted from such an early start has passed already.
        sent[requests - 4] = nil
        let request = lease.map { StoreRequest.keepAlive(lease: $0) } ?? .grant(ttl: timing.ttl)
        return .ask(request: requests, request, endpoint: endpoint)
    }

    private mutating func answered(_ number: Int, _ answer: StoreAnswer, at now: MonotonicInstant) -> [Action] {
        guard let request = sent.removeValue(forKey: number) else { return [] }
        let wasOpen = open == number
        if wasOpen { open = nil }
        switch answer {
        case .granted(let lease, let ttl):
            guard wasOpen, state == .granting, request.lease == nil else { return [] }
            return granted(lease, ttl: ttl, by: request, at: now)
        case .alive(let ttl):
            guard case .held(let lease, let until) = state, request.lease == lease else { return [] }
            failures = 0
            if wasOpen { next = request.start + timing.keepAliveInterval }
            let deadline = window(of: request, ttl: ttl)
            guard deadline > until else { return [] }
            state = .held(lease: lease, until: deadline)
            return [.extended(until: deadline)]
        case .leaseGone:
            guard request.lease != nil, request.lease == lease else { return [] }
            return lose(.gone, at: now)
        default:
            // A request that has timed out has been counted already.
            return wasOpen ? failed(request, at: now) : []
        }
    }

    private mutating func granted(_ lease: Int64, ttl: Duration, by request: Sent, at now: MonotonicInstant) -> [Action]
    {
        let until = window(of: request, ttl: ttl)
        guard until > now else {
            next = now
            return []
        }
        failures = 0
        state = .held(lease: lease, until: until)
        next = request.start + timing.keepAliveInterval
        return [.obtained(lease: lease, until: until)]
    }

    /// The end of the window that a confirmed request gives.
    private func window(of request: Sent, ttl: Duration) -> MonotonicInstant {
        request.start + (min(ttl, timing.ttl) - timing.margin)
    }

    /// Records that a request had no answer. Waits before the next one only if each endpoint has had its turn.
    private mutating func failed(_ request: Sent, at now: MonotonicInstant) -> [Action] {
        failures += 1
        endpointFailed(request.endpoint)
        next = failures.isMultiple(of: endpoints) ? now + timing.retryPause : now
        guard quorumLoss == .keep, case .held(let lease, let until) = state, request.lease == lease else { return [] }
        let deadline = max(until, request.start + timing.sendingTime)
        state = .held(lease: lease, until: deadline)
        return [.extended(until: deadline)]
    }

    /// Gives the lease up. If it may still exist in the store, it is revoked, so that the channels are free at once.
    private mutating func lose(_ loss: Loss, at now: MonotonicInstant) -> [Action] {
        guard let lease else { return [] }
        (state, open, sent, next) = (.granting, nil, [:], now)
        return [.lost(lease: lease, loss)] + (loss == .gone ? [] : [revoke(lease)])
    }

    private mutating func revoke(_ lease: Int64) -> Action {
        requests += 1
        return .ask(request: requests, .revoke(lease: lease), endpoint: endpoint)
    }

    private mutating func end() -> [Action] {
        let lost = lease.map { [Action.lost(lease: $0, .ended), revoke($0)] } ?? []
        (state, open, sent) = (.ended, nil, [:])
        return lost
    }
}
