// SPDX-License-Identifier: Apache-2.0

import Fleet
import Media

// The actions of hosts.
extension FleetWalk {
    /// The duration of a frame. All sources count frames from the true time 0, as time stamps of one source would.
    static let frameDuration = Duration.milliseconds(40)

    /// The frame that the source shows now.
    private var frame: Int64 { now.nanoseconds / Self.frameDuration.inNanoseconds }

    /// Carries out an action of a host's member.
    mutating func carryOut(_ action: FleetMember.Action, host: Int) {
        switch action {
        case .ask(let number, let request, let server):
            send(request, number: number, host: host, server: server)
        case .watch(let since, let server):
            hosts[host].watch = nil
            let event = WalkEvent.watch(
                host: host, incarnation: hosts[host].incarnation, since: since, server: server)
            if !hosts[host].isCut { queue.insert(event, at: milliseconds(1...8)) }
        case .start(let channel, _, let until): start(channel, host: host, until: until)
        case .extend(let channels, let until):
            for channel in channels { open(channel, host: host, until: until) }
        case .stop(let channel, let cause): stop(channel, host: host, cause: cause)
        case .prepare(let channel): prepare(channel, host: host)
        case .arm(let channel, let cut): hosts[host].begins[channel] = cut
        case .discard(let channel): hosts[host].begins[channel] = nil
        case .endBefore(let channel, let cut):
            hosts[host].ends[channel] = cut
            // Sometimes the program stalls before the agreed frame.
            guard cut > frame, !(isTroubled && chance(50)) else { return }
            report(channel, .reachedCut, host: host, at: .zero + Self.frameDuration * cut + .milliseconds(1))
        case .silence(let channel): ledger.close(channel, host: host, at: now)
        case .resume(let channel, let until):
            figures.failedHandovers += 1
            hosts[host].ends[channel] = nil
            open(channel, host: host, until: until)
        }
    }

    private mutating func open(_ channel: String, host: Int, until: MonotonicInstant) {
        ledger.open(channel, host: host, until: hosts[host].clock.time(until), at: now)
    }

    private mutating func start(_ channel: String, host: Int, until: MonotonicInstant) {
        figures.starts += 1
        judgeStart(channel, host: host)
        open(channel, host: host, until: until)
        hosts[host].channels.insert(channel)
        // The successor may learn of its claim before the last holder knows that its own was deleted.
        let last = lastHolder[channel].flatMap { hosts[$0].ends[channel] }
        if let end = handedOver.removeValue(forKey: channel) ?? last, let begin = hosts[host].begins[channel] {
            figures.handovers += 1
            if begin != end { faults.append("\(channel): ended before \(end), began with \(begin)") }
        }
        (hosts[host].begins[channel], lastStop[channel]) = (nil, nil)
        lastHolder[channel] = host
        report(
            channel, .frame(frame, at: hosts[host].clock.local(now), frameDuration: Self.frameDuration), host: host,
            at: milliseconds(200...400))
    }

    private mutating func stop(_ channel: String, host: Int, cause: FleetMember.StopCause) {
        ledger.close(channel, host: host, at: now)
        hosts[host].channels.remove(channel)
        if case .leaseLost = cause {
            figures.leasesLost += 1
            if isSettled, shape.quorumLoss == .stop { faults.append("\(channel): host \(host) lost its lease in calm") }
        }
        if lastHolder[channel] == host { lastStop[channel] = cause }
        if cause == .handedOver, lastHolder[channel] == host { handedOver[channel] = hosts[host].ends[channel] }
        hosts[host].ends[channel] = nil
    }

    private mutating func prepare(_ channel: String, host: Int) {
        // Some channels never open, and some fail.
        guard !(isTroubled && chance(50)) else { return }
        let fails = isTroubled && chance(50)
        report(channel, fails ? .openingFailed : .opened, host: host, at: milliseconds(200...2000))
    }

    private mutating func report(
        _ channel: String, _ progress: FleetMember.ChannelProgress, host: Int, at time: TrueInstant
    ) {
        queue.insert(
            .member(host: host, incarnation: hosts[host].incarnation, .channel(channel, progress)), at: time)
    }

    /// Starts a host's process.
    mutating func boot(_ host: Int) {
        guard hosts[host].process == .dead else { return }
        hosts[host].process = .running
        hosts[host].incarnation += 1
        hosts[host].member = member(host)
        (hosts[host].timer, hosts[host].watch, hosts[host].inbox) = (.distantFuture, nil, [])
        deliver(.start, to: host)
    }

    /// Ends a host's process at once.
    mutating func kill(_ host: Int) {
        guard hosts[host].process != .dead else { return }
        hosts[host].process = .dead
        hosts[host].incarnation += 1
        (hosts[host].watch, hosts[host].begins, hosts[host].ends) = (nil, [:], [:])
        for channel in hosts[host].channels where lastHolder[channel] == host { lastHolder[channel] = nil }
        hosts[host].channels = []
        ledger.close(host: host, at: now)
    }

    /// Lets a stopped process continue.
    mutating func wake(_ host: Int) {
        guard hosts[host].process == .stopped else { return }
        hosts[host].process = .running
        let inbox = hosts[host].inbox
        (hosts[host].inbox, hosts[host].timer) = ([], .distantFuture)
        // Events and the timer come in any order.
        if chance(500) { deliver(.time, to: host) }
        for event in inbox { deliver(event, to: host) }
        deliver(.time, to: host)
    }
}
