// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization

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
        /// How many bytes the server takes per second.
        var rate = (bytes: 0.0, until: MonotonicInstant.zero)
        /// The network passes nothing before this time.
        var cutUntil = MonotonicInstant.zero
        /// Whether the server accepts only one connection at a time.
        var isExclusive = false
    }

    private struct State {
        var conditions = Conditions()
        var fates: [Int: Fate] = [:]
        var connections = 0
    }

    /// How long an undisturbed server takes to answer.
    private static let usualDelay = Duration.milliseconds(50)

    private let usualRate: Double
    private let state = Mutex(State())

    /// Creates a server that takes `usualRate` bytes per second while it is not disturbed.
    init(usualRate: Double) { self.usualRate = usualRate }

    /// Sets disturbances, or ends them.
    func change(_ body: (inout Conditions) -> Void) { state.withLock { body(&$0.conditions) } }

    /// Ends all disturbances. Connections that were forgotten stay forgotten.
    func recover() { change { $0 = Conditions() } }

    /// Whether the peer has no disturbance at `now`. Connections that were closed or forgotten do not matter.
    func isFavorable(at now: MonotonicInstant) -> Bool {
        let conditions = state.withLock { $0.conditions }
        let ends = [
            conditions.answer.until, conditions.delay.until, conditions.rate.until, conditions.cutUntil,
        ]
        return ends.allSatisfy { $0 <= now } && !conditions.isExclusive
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
            guard now >= conditions.cutUntil else { return .nothing }
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

    /// How many bytes the server took on `connection` between `start` and `now`.
    func passedBytes(on connection: Int, from start: MonotonicInstant, to now: MonotonicInstant) -> Double {
        state.withLock { state in
            guard state.fates[connection] == .open else { return 0 }
            let conditions = state.conditions
            let elapsed = now - max(start, min(now, conditions.cutUntil))
            return elapsed.inSeconds * (now < conditions.rate.until ? conditions.rate.bytes : usualRate)
        }
    }
}
