// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization
import TestSupport

/// A simulated server, and the network between it and the output. Each disturbance lasts until a time of the
/// simulation's clock.
final class SimulatedPeer: Sendable {
    /// How the server answers a new connection.
    enum Answer: Sendable, CaseIterable {
        case accept
        /// The server is busy; a later connection may be accepted.
        case reject
        /// The stream key is wrong.
        case refuse
        /// The server's port is closed.
        case refuseConnection
        case silence
    }

    /// The result of a new connection.
    enum Reply: Sendable {
        case nothing
        case accepted(connection: Int)
        case failed(OutputFailure)
    }

    /// The state of a connection.
    enum Fate: Sendable {
        case open
        /// The server closed the connection.
        case closed
        /// A middlebox forgot the connection: no data passes, and neither side is told.
        case forgotten
    }

    /// The disturbances of the server and its network.
    struct Conditions: Sendable {
        var answer = (kind: Answer.accept, until: MonotonicInstant.zero)
        /// How long the server takes to answer.
        var delay = (wait: Duration.zero, until: MonotonicInstant.zero)
        /// How many bytes the network passes, or the server takes, per second.
        var rate = (bytes: 0.0, until: MonotonicInstant.zero)
        /// The network passes nothing before this time.
        var cutUntil = MonotonicInstant.zero
        /// The probability that a segment or a datagram is lost.
        var loss = (share: 0.0, until: MonotonicInstant.zero)
        /// The longest delay that the network adds to a segment or a datagram. Each has a delay of its own, so that
        /// datagrams overtake each other.
        var jitter = (most: Duration.zero, until: MonotonicInstant.zero)
        /// Whether the server accepts only one connection at a time.
        var isExclusive = false
    }

    fileprivate struct State {
        var conditions = Conditions()
        var fates: [Int: Fate] = [:]
        var connections = 0
        var random: SeededRandom
        /// When the router, which passes datagrams at a limited rate, has passed all datagrams that it holds.
        var routerIsFree = MonotonicInstant.zero
    }

    /// How long an undisturbed server takes to answer.
    private static let usualDelay = Duration.milliseconds(50)

    fileprivate let usualRate: Double
    fileprivate let state: Mutex<State>

    /// Creates a server that takes `usualRate` bytes per second while it is not disturbed. `seed` determines which
    /// segments and datagrams its network loses and delays.
    init(usualRate: Double, seed: UInt64) {
        self.usualRate = usualRate
        state = Mutex(State(random: SeededRandom(seed: seed)))
    }

    /// Sets disturbances, or ends them.
    func change(_ body: (inout Conditions) -> Void) { state.withLock { body(&$0.conditions) } }

    /// Ends all disturbances. Connections that were forgotten stay forgotten, and a server that accepts only one
    /// connection continues to do so.
    func recover() {
        change { conditions in
            let isExclusive = conditions.isExclusive
            conditions = Conditions()
            conditions.isExclusive = isExclusive
        }
    }

    /// Whether the peer has no disturbance at `now`. Connections that were closed or forgotten do not matter, nor does
    /// it matter that the server accepts only one connection: the output must have closed all earlier ones.
    func isFavorable(at now: MonotonicInstant) -> Bool {
        let conditions = state.withLock { $0.conditions }
        let ends = [
            conditions.answer.until, conditions.delay.until, conditions.rate.until, conditions.cutUntil,
            conditions.loss.until, conditions.jitter.until,
        ]
        return ends.allSatisfy { $0 <= now }
    }

    /// Gives all open connections the state `fate`.
    func endConnections(_ fate: Fate) {
        state.withLock { state in state.fates = state.fates.mapValues { $0 == .open ? fate : $0 } }
    }

    /// How long after `now` the server answers a connection that begins then.
    func delay(at now: MonotonicInstant) -> Duration {
        let delay = state.withLock { $0.conditions.delay }
        return now < delay.until ? delay.wait : Self.usualDelay
    }

    /// The answer to a new connection at `now`, or to a repeated attempt to connect.
    func answer(at now: MonotonicInstant) -> Reply {
        state.withLock { state in
            let conditions = state.conditions
            guard state.passes(at: now) else { return .nothing }
            switch now < conditions.answer.until ? conditions.answer.kind : .accept {
            case .silence: return .nothing
            case .refuseConnection: return Self.failure(.unreachable, "connect", "connection refused")
            case .reject: return Self.failure(.rejected, "publish", "busy")
            case .refuse: return Self.failure(.refused, "publish", "bad key")
            case .accept: break
            }
            if conditions.isExclusive, state.fates.values.contains(.open) {
                return Self.failure(.rejected, "publish", "already publishing")
            }
            state.connections += 1
            state.fates[state.connections] = .open
            return .accepted(connection: state.connections)
        }
    }

    private static func failure(_ kind: OutputFailure.Kind, _ step: String, _ reason: String) -> Reply {
        .failed(OutputFailure(kind, step: step, reason: reason))
    }

    /// The state of `connection` as the output can see it at `now`.
    func fate(of connection: Int, at now: MonotonicInstant) -> Fate {
        state.withLock { state in
            let fate = state.fates[connection] ?? .closed
            // While the network is down, the output cannot see that the server closed the connection.
            return fate == .closed && now < state.conditions.cutUntil ? .forgotten : fate
        }
    }

    /// Records that the output closed `connection`.
    func leave(_ connection: Int) { state.withLock { $0.fates[connection] = nil } }
}

// MARK: The network

extension SimulatedPeer {
    /// How long a segment or datagram is under way when nothing is disturbed.
    static let usualTransit = Duration.milliseconds(20)
    /// A router drops further datagrams if it needs longer than this to pass those that it holds.
    private static let routerHolds = Duration.milliseconds(300)

    /// How many bytes of a stream the server took on `connection` between `start` and `now`.
    func passedBytes(on connection: Int, from start: MonotonicInstant, to now: MonotonicInstant) -> Double {
        state.withLock { state in
            guard state.fates[connection] == .open else { return 0 }
            let conditions = state.conditions
            let elapsed = now - max(start, min(now, conditions.cutUntil))
            return elapsed.inSeconds * (now < conditions.rate.until ? conditions.rate.bytes : usualRate)
        }
    }

    /// Whether the network passes a segment or a small datagram at `now`.
    func passes(at now: MonotonicInstant) -> Bool { state.withLock { $0.passes(at: now) } }

    /// Whether the network passes a segment of `connection` at `now`.
    func passesSegment(on connection: Int, at now: MonotonicInstant) -> Bool {
        state.withLock { $0.fates[connection] == .open && $0.passes(at: now) }
    }

    /// How long a segment that passes at `now` is under way.
    func transit(at now: MonotonicInstant) -> Duration { state.withLock { $0.transit(at: now) } }

    /// How long a datagram of `bytes`, sent at `now`, is under way; nil if it is lost. `connection` is nil if datagrams
    /// need no connection.
    func transit(of bytes: Int, on connection: Int?, at now: MonotonicInstant) -> Duration? {
        state.withLock { state in
            if let connection, state.fates[connection] != .open { return nil }
            let rate = state.conditions.rate
            guard state.passes(at: now) else { return nil }
            guard now < rate.until else { return state.transit(at: now) }
            let queued = max(.zero, state.routerIsFree - now)
            guard rate.bytes > 0, queued < Self.routerHolds else { return nil }
            state.routerIsFree = now + queued + .seconds(Double(bytes) / rate.bytes)
            return state.routerIsFree - now + state.transit(at: now)
        }
    }
}

extension SimulatedPeer.State {
    fileprivate mutating func passes(at now: MonotonicInstant) -> Bool {
        guard now >= conditions.cutUntil else { return false }
        return now >= conditions.loss.until || Double.random(in: 0..<1, using: &random) >= conditions.loss.share
    }

    fileprivate mutating func transit(at now: MonotonicInstant) -> Duration {
        guard now < conditions.jitter.until else { return SimulatedPeer.usualTransit }
        return SimulatedPeer.usualTransit + conditions.jitter.most * Double.random(in: 0..<1, using: &random)
    }
}
