// SPDX-License-Identifier: Apache-2.0

package import Media

/// One host of a fleet: its lease, its claims, its part in planned moves, and what it knows of the store. It combines
/// the state machines ``Lease``, ``Claim``, ``HandoverGiver`` and ``HandoverTaker``, and is a state machine itself: it
/// handles events with their times, and returns actions for its owner. It does no I/O and reads no clock.
///
/// The host asks for one claim at a time. So its load is known when it asks for the next claim, and a fleet that starts
/// with all channels free distributes them among its hosts.
package struct FleetMember: Sendable {
    /// An event that the member handles.
    package enum Event: Sendable, Equatable {
        /// The host starts.
        case start
        /// The request with this number has this answer. A second answer to it is ignored.
        case answered(request: Int, StoreAnswer)
        /// The watch reports these changes, all of one revision or of several, in order.
        case changed([FleetChange])
        /// The watch has ended.
        case watchEnded
        /// The host's use of its resources was measured.
        case measured(Resources)
        /// The channel could not be opened, or failed.
        case channelFailed(String)
        /// A channel reports its progress.
        case channel(String, ChannelProgress)
        /// The time ``FleetMember/due`` has come.
        case time
        /// The host will end soon. It offers its channels to others, as after an operator's request to drain it.
        case leave
        /// The host ends. Its channels stop at once.
        case end
    }

    /// What a channel reports.
    package enum ChannelProgress: Sendable, Equatable {
        /// At this time the channel publishes this frame; frames last `frameDuration`.
        case frame(Int64, at: MonotonicInstant, frameDuration: Duration)
        /// A channel that was prepared is open, but does not publish yet.
        case opened
        /// A channel that was to be prepared could not be opened.
        case openingFailed
        /// Every frame before the agreed one was sent.
        case reachedCut
    }

    /// Why a channel stops.
    package enum StopCause: Sendable, Equatable {
        /// The host has lost its lease.
        case leaseLost(Lease.Loss)
        /// The successor has the channel.
        case handedOver
        /// The channel failed here, and another host may try.
        case failed
        /// The claim is not in the store any more, or the channel's description is not.
        case claimGone
    }

    /// An action that the owner must carry out.
    package enum Action: Sendable, Equatable {
        /// Send the request with this number to the endpoint with this index.
        case ask(request: Int, StoreRequest, endpoint: Int)
        /// End the present watch, and report all changes since this revision.
        case watch(since: Int64, endpoint: Int)
        /// Open the channel, or publish what was prepared, and open its window of sending until `until`.
        case start(channel: String, token: Int64, until: MonotonicInstant)
        /// Let these channels send until `until`.
        case extend(channels: [String], until: MonotonicInstant)
        /// Close the channel's window of sending at once, and then the channel.
        case stop(channel: String, StopCause)
        /// Open the channel, but do not publish yet.
        case prepare(channel: String)
        /// Begin the prepared channel with a keyframe at this frame, and keep what is encoded.
        case arm(channel: String, cut: Int64)
        /// Close a channel that was prepared.
        case discard(channel: String)
        /// Publish up to the frame before this one, and keep what is encoded from there on.
        case endBefore(channel: String, cut: Int64)
        /// Close the channel's window of sending at once. The channel stays open.
        case silence(channel: String)
        /// Open the channel's window until `until` again, and publish what was kept.
        case resume(channel: String, until: MonotonicInstant)
    }

    let timing: FleetTiming
    let handoverTiming: HandoverTiming
    let policy: ClaimPolicy
    /// The host, with its resources as they were last measured.
    package internal(set) var profile: HostProfile
    /// The host's lease.
    package internal(set) var lease: Lease
    /// What the host knows of the store.
    package internal(set) var view = FleetView()
    var jitter: Jitter
    /// The actions of the event that is being handled.
    var actions: [Action] = []

    /// Whether the host will end soon.
    var isLeaving = false
    /// Requests without an answer, and requests that have timed out and may still get one.
    var pending: [Int: Pending] = [:]
    var requests = 0
    /// The time at which the earliest open request times out.
    var nextTimeout = MonotonicInstant.distantFuture
    /// When the view was last confirmed by a change or a read; nil while there is no watch.
    var watchHeard: MonotonicInstant?
    /// When the host must ask for its own entry again.
    var mustRegister: MonotonicInstant?
    /// When the store must be read; nil while it is being read or watched.
    var nextRead: MonotonicInstant?

    /// The channels that the host knows, by name.
    package internal(set) var claims: [String: Claim] = [:]
    /// Channels that are free, and since when this host knows it.
    var free: [String: MonotonicInstant] = [:]
    /// Channels whose cost is part of ``claimed``, with this cost.
    var counted: [String: Resources] = [:]
    /// The costs of all channels that the host holds or asks for.
    var claimed = Resources()
    /// The channel whose claim is being asked for.
    var asking: String?
    /// The channel to claim next, if ``isNextKnown``.
    var nextClaim: (until: MonotonicInstant, name: String)?
    var isNextKnown = true
    /// The host claims no other channels than those that it held before, until this time.
    var claimPause = MonotonicInstant.distantPast
    /// Channels that the host held until it lost its lease.
    var heldBefore: Set<String> = []
    /// Channels that failed on this host: how often, and when they last started.
    var failures: [String: Int] = [:]
    var started: [String: MonotonicInstant] = [:]

    /// Planned moves from this host, and to it.
    package internal(set) var givers: [String: HandoverGiver] = [:]
    package internal(set) var takers: [String: HandoverTaker] = [:]
    /// The last request of each planned move.
    var moveRequests: [String: Int] = [:]
    /// Offers that the host will take at these times.
    var offers: [String: MonotonicInstant] = [:]
    /// The last reported frame of each channel that the host holds.
    var programs: [String: Program] = [:]
    /// Requests that delete what this host has in the store, each at most once at a time.
    var deleting: [FleetKey: Int] = [:]
    /// Channels to consider again at these times.
    var later: [String: MonotonicInstant] = [:]
    /// Channels that are not offered before these times, because a move has failed.
    var offerPause: [String: MonotonicInstant] = [:]

    /// The member that `profile` describes. `seed` must differ between hosts.
    package init(
        _ profile: HostProfile, seed: UInt64, endpoints: Int = 1, quorumLoss: Lease.QuorumLoss = .stop,
        timing: FleetTiming = FleetTiming(), handoverTiming: HandoverTiming = HandoverTiming()
    ) {
        (self.profile, self.timing, self.handoverTiming) = (profile, timing, handoverTiming)
        (policy, jitter) = (ClaimPolicy(timing: timing), Jitter(seed: seed))
        lease = Lease(timing: timing, quorumLoss: quorumLoss, endpoints: endpoints)
    }

    /// The names of the channels that the host holds, each with its token.
    package var held: [String: Int64] { counted.keys.reduce(into: [:]) { $0[$1] = claims[$1]?.token } }

    /// Why the host may not claim a channel with this demand now; nil if it may.
    package func refusal(of demand: ChannelDemand) -> ClaimPolicy.Refusal? {
        policy.refusal(of: demand, by: profile, claimed: claimed)
    }

    /// When the owner must report ``Event/time``; nil if it need not.
    package var due: MonotonicInstant? {
        guard let lease = lease.due else { return nil }
        var due = min(lease, nextTimeout, nextRead ?? .distantFuture, mustRegister ?? .distantFuture)
        if let watchHeard { due = min(due, watchHeard + timing.watchSilence) }
        if let claimDue { due = min(due, claimDue) }
        for move in givers.values { due = min(due, move.due ?? .distantFuture) }
        for move in takers.values { due = min(due, move.due ?? .distantFuture) }
        for time in offers.values { due = min(due, time) }
        for time in later.values { due = min(due, time) }
        return due
    }

    /// Handles an event that happens at `now`, and returns the actions to carry out, in order.
    package mutating func handle(_ event: Event, at now: MonotonicInstant) -> [Action] {
        actions = []
        jitter.advance()
        // The window of sending is judged first: a process that was stopped finds events that came meanwhile.
        apply(lease.handle(.time, at: now), at: now)
        switch event {
        case .start:
            nextRead = now
            apply(lease.handle(.start, at: now), at: now)
        case .answered(let request, let answer): answered(request, answer, at: now)
        case .changed(let changes): changed(changes, at: now)
        case .watchEnded: if watchHeard != nil { (watchHeard, nextRead) = (nil, now) }
        case .measured(let resources):
            profile.measured = resources
            considerFree(at: now)
        case .channelFailed(let name): channelFailed(name, at: now)
        case .channel(let name, let progress): channel(name, progress, at: now)
        case .time: break
        case .leave: leave(at: now)
        case .end: apply(lease.handle(.end, at: now), at: now)
        }
        proceed(at: now)
        return actions
    }

    /// Does what the time demands.
    private mutating func proceed(at now: MonotonicInstant) {
        guard lease.state != .ended else { return }
        timeOut(at: now)
        readOrWatch(at: now)
        for name in later.filter({ $0.value <= now }).keys.sorted() {
            later[name] = nil
            consider(name, at: now)
        }
        claimNext(at: now)
        moveOn(at: now)
    }

    /// Carries out what the lease demands.
    mutating func apply(_ demanded: [Lease.Action], at now: MonotonicInstant) {
        for action in demanded {
            switch action {
            case .ask(let number, let request, let endpoint):
                ask(request, for: .lease(number), endpoint: endpoint, at: now)
            case .obtained(let number, _):
                ask(.register(host: profile.name, lease: number), for: .register(lease: number), at: now)
                considerFree(at: now)
            case .extended(let until):
                let channels = held.keys.filter { givers[$0]?.isSilent != true }.sorted()
                if !channels.isEmpty { actions.append(.extend(channels: channels, until: until)) }
            case .lost(_, let loss): leaseLost(loss, at: now)
            }
        }
    }
}
