// SPDX-License-Identifier: Apache-2.0

import Fleet
import Media
import TestSupport

// Times with faults, and times without faults.
extension FleetWalk {
    /// How long a time without faults lasts before the fleet is checked: a host starts again in at most 20 s after a
    /// kill, but all hosts start at once when that time begins; a lease ends after 5 s, a broken watch is noticed after
    /// 3 s, a host that is drained waits 10 s longer, and one on which a channel failed several times 16 s.
    static let settling = Duration.seconds(35)

    /// Whether the present time without faults has lasted so long that every channel must be on air.
    var isSettled: Bool { !isTroubled && now > calmSince + Self.settling }

    /// Begins a time with faults.
    mutating func trouble() {
        isTroubled = true
        queue.insert(.disturb, at: milliseconds(0...3000))
        queue.insert(.calm, at: milliseconds(20000...60000))
    }

    /// Begins a time without faults.
    mutating func calm() {
        (isTroubled, calmSince) = (false, now)
        servers.stale = nil
        for server in servers.states.indices { recover(server) }
        for host in hosts.indices {
            hosts[host].isCut = false
            wake(host)
            boot(host)
        }
        // The operator leaves some requests to drain and to move as they are.
        if chance(500) { for host in hosts.indices { write(FleetKey(.drain, "host-\(host)"), nil) } }
        queue.insert(.check, at: now + Self.settling + .nanoseconds(1))
        queue.insert(.trouble, at: now + Self.settling + .seconds(12))
    }

    /// Causes a random fault or event, and schedules the next one.
    mutating func disturb() {
        guard isTroubled else { return }
        queue.insert(.disturb, at: milliseconds(0...Int64(40000 / (shape.hosts + 5))))
        let host = Int.random(in: hosts.indices, using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<15:
            kill(host)
            queue.insert(.boot(host: host), at: milliseconds(100...20000))
        case 15..<35:
            guard hosts[host].process == .running else { return }
            hosts[host].process = .stopped
            queue.insert(.wake(host: host), at: milliseconds(100...20000))
        case 35..<50:
            hosts[host].isCut = true
            queue.insert(.uncut(host: host), at: milliseconds(500...15000))
        case 50..<58: loseLeader()
        case 58..<60: loseAllServers()
        case 60..<70: hosts[host].watch = nil
        default: operate(host)
        }
    }

    /// Causes a random event: an operator's request to drain a host or to move a channel, a channel's failure, another
    /// measured load, or a channel that is removed and added again.
    private mutating func operate(_ host: Int) {
        let channel = random.pick(channelNames)
        let drain = FleetKey(.drain, "host-\(host)")
        let move = FleetKey(.move, channel)
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3: write(drain, store.entries[drain] == nil ? .mark : nil)
        case 3..<7: write(move, chance(300) ? nil : .host("host-\(host)"))
        case 7..<8:
            let channels = hosts[host].channels.sorted()
            if !channels.isEmpty { deliver(.channelFailed(random.pick(channels)), to: host) }
        case 8:
            let cores = Int64.random(in: 0...3000, using: &random)
            deliver(.measured(Resources(milliCores: cores)), to: host)
        default:
            let key = FleetKey(.channel, channel)
            guard let entry = store.entries[key] else { return }
            write(key, nil)
            write(key, entry.value)
        }
    }

    /// Checks the fleet after a long enough time without faults: every channel that some host can take is on air, and
    /// the hosts agree with the store.
    mutating func check() {
        guard isSettled else { return }
        figures.checks += 1
        for channel in channelNames where !ledger.isOpen(channel, at: now) {
            guard case .demand(let demand)? = store.entries[FleetKey(.channel, channel)]?.value else { continue }
            let able = hosts.indices.filter { hosts[$0].member.refusal(of: demand) == nil }
            guard !able.isEmpty else { continue }
            let claim = store.entries[FleetKey(.claim, channel)]?.host ?? "no host"
            let states = able.prefix(3).map { "\(hosts[$0].member.claims[channel]?.state ?? .taken)" }
            faults.append("\(channel): off air, claimed by \(claim); hosts \(able) can take it: \(states)")
        }
        for host in hosts.indices {
            for (channel, token) in hosts[host].member.held
            where store.entries[FleetKey(.claim, channel)]?.created != token {
                faults.append("\(channel): host \(host) believes that it holds it")
            }
        }
    }

    /// Checks the start of a channel: it had no other holder before, or there was a cause for its move.
    mutating func judgeStart(_ channel: String, host: Int) {
        guard let last = lastHolder[channel], last != host else { return }
        figures.takeovers += 1
        switch lastStop[channel] {
        case .handedOver:
            let wasMoved = store.entries[FleetKey(.move, channel)] != nil
            let wasDrained = store.entries[FleetKey(.drain, "host-\(last)")] != nil
            if isSettled, !wasMoved, !wasDrained, !leaving.contains(last) {
                faults.append("\(channel): handed over without a request")
            }
        case .leaseLost, .failed, .claimGone, nil:
            let cause = lastStop[channel].map { "\($0)" } ?? "no stop"
            if isSettled { faults.append("\(channel): moved from \(last) to \(host) in calm, after \(cause)") }
        }
    }
}
