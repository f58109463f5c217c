// SPDX-License-Identifier: Apache-2.0

import Fleet
import Media

/// A host in the simulation: a member, its clock, and what is around it.
struct SimulatedHost {
    /// The state of the host's process.
    enum Process {
        case running
        /// The process was stopped by a signal. When it wakes, it gets all events that came meanwhile.
        case stopped
        case dead
    }

    var member: FleetMember
    var clock: SimulatedClock
    var process = Process.dead
    /// The number of processes that the host has had. Messages for earlier ones are lost.
    var incarnation = 0
    /// The events that came while the process was stopped.
    var inbox: [FleetMember.Event] = []
    /// Whether no message passes between the host and the store.
    var isCut = false
    /// The server to which the present watch is connected; nil without a watch.
    var watch: Int?
    /// When the last change was delivered. A watch keeps the order.
    var watchTime = TrueInstant.zero
    /// The time of the timer that is set.
    var timer = TrueInstant.distantFuture
    /// The frames at which prepared channels begin, and before which channels end.
    var begins: [String: Int64] = [:]
    var ends: [String: Int64] = [:]
    /// Channels that the host was told to start and not to stop.
    var channels: Set<String> = []
}

/// The servers of the store: which of them answer, and which leads.
struct SimulatedServers {
    /// The state of a server.
    enum State {
        case up
        case dead
        /// The server accepts connections and never answers.
        case hung
    }

    var states: [State] = [.up, .up, .up]
    var leader: Int? = 0
    /// A server that still takes itself for the leader, and until when.
    var stale: (server: Int, until: TrueInstant)?

    /// Whether `server` can answer any request.
    func answers(_ server: Int) -> Bool { states[server] == .up && leader != nil }
}

/// An event of the simulation.
enum WalkEvent {
    /// A request reaches a server.
    case request(host: Int, incarnation: Int, number: Int, StoreRequest, server: Int)
    /// A watch reaches a server.
    case watch(host: Int, incarnation: Int, since: Int64, server: Int)
    /// A member's event reaches its host.
    case member(host: Int, incarnation: Int, FleetMember.Event)
    /// A host's timer fires.
    case timer(host: Int, incarnation: Int)
    /// Leases may have ended.
    case expiry
    /// The servers elect a leader.
    case elected
    /// A server works again.
    case serverUp(Int)
    /// A stopped process wakes, or a dead host starts again.
    case wake(host: Int)
    case boot(host: Int)
    /// A host reaches the store again.
    case uncut(host: Int)
    /// A random fault or event happens, such as a killed host or an operator's request.
    case disturb
    /// A time without faults begins.
    case calm
    /// The time without faults has lasted long enough to check the fleet.
    case check
    /// The time without faults ends.
    case trouble
}
