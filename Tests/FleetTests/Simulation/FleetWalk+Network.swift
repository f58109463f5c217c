// SPDX-License-Identifier: Apache-2.0

import Fleet
import Media
import TestSupport

// The messages between hosts and the store.
extension FleetWalk {
    /// When a message that leaves now arrives; nil if it is lost.
    private mutating func arrival() -> TrueInstant? {
        guard isTroubled else { return milliseconds(1...8) }
        if chance(20) { return nil }
        return chance(40) ? milliseconds(100...6000) : milliseconds(1...40)
    }

    /// Sends a member's request to a server, and sometimes twice.
    mutating func send(_ request: StoreRequest, number: Int, host: Int, server: Int) {
        guard !hosts[host].isCut else { return }
        let event = WalkEvent.request(
            host: host, incarnation: hosts[host].incarnation, number: number, request, server: server)
        if let time = arrival() { queue.insert(event, at: time) }
        if isTroubled, chance(20), let time = arrival() { queue.insert(event, at: time) }
    }

    /// Lets a server answer a request.
    mutating func serve(_ request: StoreRequest, number: Int, host: Int, incarnation: Int, server: Int) {
        var answer = StoreAnswer.failed
        if let stale = servers.stale, stale.server == server, now < stale.until {
            // A leader that does not know of the next one renews leases that are not its own any more.
            guard case .keepAlive = request else { return }
            answer = .alive(ttl: shape.timing.ttl)
        } else if servers.answers(server) {
            requests[request.kind, default: 0] += 1
            let result = store.answer(to: request, at: now)
            answer = result.answer
            publish(result.changes)
            setExpiry()
        } else if servers.states[server] == .up, case .keepAlive = request {
            // A follower of etcd keeps the request until there is a leader.
            queue.insert(
                .request(host: host, incarnation: incarnation, number: number, request, server: server),
                at: now + .milliseconds(100))
            return
        } else if servers.states[server] != .dead {
            return
        }
        guard !hosts[host].isCut, hosts[host].incarnation == incarnation else { return }
        let event = WalkEvent.member(
            host: host, incarnation: incarnation, .answered(request: number, answer))
        if let time = arrival() { queue.insert(event, at: time) }
        if isTroubled, chance(20), let time = arrival() { queue.insert(event, at: time) }
    }

    /// Sends changes to every host that watches.
    mutating func publish(_ changes: [FleetChange]) {
        guard !changes.isEmpty else { return }
        history += changes
        for host in hosts.indices { deliver(changes, toWatchOf: host) }
    }

    private mutating func deliver(_ changes: [FleetChange], toWatchOf host: Int) {
        guard let server = hosts[host].watch else { return }
        // If the connection breaks, the watch becomes silent, and the host is not told.
        guard servers.states[server] == .up, !hosts[host].isCut, !(isTroubled && chance(3)) else {
            hosts[host].watch = nil
            return
        }
        let delay = isTroubled && chance(20) ? milliseconds(100...2000) : milliseconds(1...8)
        hosts[host].watchTime = max(hosts[host].watchTime, delay)
        queue.insert(
            .member(host: host, incarnation: hosts[host].incarnation, .changed(changes)), at: hosts[host].watchTime)
    }

    /// Connects the watch of a host to a server.
    mutating func watch(host: Int, incarnation: Int, since: Int64, server: Int) {
        requests["watch", default: 0] += 1
        guard hosts[host].incarnation == incarnation, !hosts[host].isCut else { return }
        guard servers.answers(server) else {
            hosts[host].watch = nil
            if servers.states[server] == .dead { deliver(.watchEnded, to: host) }
            return
        }
        hosts[host].watch = server
        var first = history.endIndex
        while first > 0, history[first - 1].revision >= since { first -= 1 }
        if first < history.endIndex { deliver(Array(history[first...]), toWatchOf: host) }
    }

    /// Writes an entry as the operator does.
    mutating func write(_ key: FleetKey, _ value: FleetValue?) {
        guard value != nil || store.entries[key] != nil else { return }
        publish(store.write(key, value))
    }

    /// Ends leases, if there is a leader to do so.
    mutating func expire() {
        isExpirySet = false
        if servers.leader != nil { publish(store.expire(at: now)) }
        setExpiry()
    }

    /// Looks for ended leases when the next one ends. Sometimes etcd ends one a little late.
    mutating func setExpiry() {
        guard !isExpirySet, let next = store.nextExpiry else { return }
        isExpirySet = true
        let late = chance(500) ? 0 : Int64.random(in: 0...500_000_000, using: &random)
        queue.insert(.expiry, at: max(next, now + .milliseconds(1)) + .nanoseconds(late))
    }

    /// Ends the leader's work. It is dead, or hangs, or still takes itself for the leader.
    mutating func loseLeader() {
        guard let leader = servers.leader else { return }
        servers.leader = nil
        let elected = milliseconds(1000...2000)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: servers.states[leader] = .dead
        case 1: servers.states[leader] = .hung
        default:
            servers.states[leader] = .hung
            servers.stale = (leader, elected + .nanoseconds(Int64.random(in: 0...900_000_000, using: &random)))
        }
        endWatches(of: leader)
        queue.insert(.elected, at: elected)
        queue.insert(.serverUp(leader), at: milliseconds(5000...15000))
    }

    /// Ends the work of all servers for a while.
    mutating func loseAllServers() {
        servers.leader = nil
        for server in servers.states.indices {
            servers.states[server] = chance(500) ? .dead : .hung
            endWatches(of: server)
            queue.insert(.serverUp(server), at: milliseconds(1000...20000))
        }
    }

    private mutating func endWatches(of server: Int) {
        for host in hosts.indices where hosts[host].watch == server {
            hosts[host].watch = nil
            if servers.states[server] == .dead { deliver(.watchEnded, to: host) }
        }
    }

    /// Elects a leader, if two servers work.
    mutating func elect() {
        let well = servers.states.indices.filter { servers.states[$0] == .up }
        guard servers.leader == nil, well.count >= 2 else { return }
        servers.leader = random.pick(well)
        store.elect(at: now)
    }

    /// Makes a server well again.
    mutating func recover(_ server: Int) {
        if servers.stale?.server == server { servers.stale = nil }
        servers.states[server] = .up
        if servers.leader == nil { queue.insert(.elected, at: milliseconds(300...2000)) }
    }
}
