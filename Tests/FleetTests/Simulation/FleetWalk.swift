// SPDX-License-Identifier: Apache-2.0

import Fleet
import Media
import TestSupport

/// A random walk of a simulated fleet. Each host has a clock of its own; the store is a model. Times with faults, in
/// which messages, processes, servers and operators do anything, take turns with times without faults.
///
/// No host ever sees the true time or a wall clock, so a wrong wall clock cannot matter; the hosts' monotonic clocks
/// begin at times that differ by up to two hours and run up to 500 ppm wrong.
struct FleetWalk {
    /// The size and the configuration of the fleet.
    struct Shape {
        var hosts: Int
        var channels: Int
        var timing = FleetTiming()
        var quorumLoss = Lease.QuorumLoss.stop
        /// Whether there are times with faults.
        var hasTrouble = true
        /// Whether any host may take any channel, and no channel prefers one.
        var isUniform = false
    }

    let shape: Shape
    var random: SeededRandom
    var now = TrueInstant.zero
    var queue = EventQueue<WalkEvent>()
    var store = ModelStore()
    var history: [FleetChange] = []
    var servers = SimulatedServers()
    var hosts: [SimulatedHost] = []
    var ledger = SendingLedger()
    var faults: [String] = []
    /// How many requests of each kind reached the store.
    var requests: [String: Int] = [:]
    /// Whether messages are lost now.
    var isTroubled = false
    var isExpirySet = false
    /// The number of events since the time last changed.
    private var eventsNow = 0
    /// When the present time without faults began.
    var calmSince = TrueInstant.zero
    /// The host that last held each channel, and why it stopped the channel; nil until the host has reported the
    /// reason.
    var lastHolder: [String: Int] = [:]
    var lastStop: [String: FleetMember.StopCause] = [:]
    /// The frame before which each channel last ended in a planned move.
    var handedOver: [String: Int64] = [:]
    /// Hosts that were told to leave.
    var leaving: Set<Int> = []
    var figures = WalkFigures()

    /// A fleet of this shape, all of whose hosts start at once.
    init(_ shape: Shape, seed: UInt64) {
        (self.shape, random) = (shape, SeededRandom(seed: seed))
        store.clockDeviation = Int64.random(in: -500...500, using: &random)
        for name in channelNames { write(FleetKey(.channel, name), .demand(demand())) }
        for index in 0..<shape.hosts {
            let clock = SimulatedClock(
                start: MonotonicInstant(
                    nanoseconds: .random(in: -3_600_000_000_000...3_600_000_000_000, using: &random)),
                deviation: .random(in: -500...500, using: &random))
            hosts.append(SimulatedHost(member: member(index), clock: clock))
            queue.insert(.boot(host: index), at: milliseconds(0...1000))
        }
        if shape.hasTrouble { queue.insert(.trouble, at: seconds(20)) }
    }

    var channelNames: [String] { (0..<shape.channels).map { "channel-\($0)" } }

    /// The number of requests that reached the store.
    var requestCount: Int { requests.values.reduce(0, +) }

    /// The number of channels that some host may send now.
    var channelsOnAir: Int { channelNames.count { ledger.isOpen($0, at: now) } }

    /// Plays this number of events, or until a fault.
    mutating func run(steps: Int) -> [String] {
        for _ in 0..<steps {
            guard step() else { break }
        }
        return faults + ledger.faults
    }

    /// Plays until the true time `end`, or until a fault.
    mutating func run(until end: TrueInstant) -> [String] {
        while let next = queue.next, next <= end, step() {}
        return faults + ledger.faults
    }

    /// Plays one event. Returns whether there is another one to play.
    private mutating func step() -> Bool {
        guard let (time, event) = queue.removeFirst() else { return false }
        eventsNow = time == now ? eventsNow + 1 : 0
        if eventsNow > 5000 { faults.append("a host asks for the time \(now.nanoseconds) again and again") }
        now = time
        figures.steps += 1
        play(event)
        return faults.isEmpty && ledger.faults.isEmpty
    }

    private mutating func play(_ event: WalkEvent) {
        switch event {
        case .request(let host, let incarnation, let number, let request, let server):
            serve(request, number: number, host: host, incarnation: incarnation, server: server)
        case .watch(let host, let incarnation, let since, let server):
            watch(host: host, incarnation: incarnation, since: since, server: server)
        case .member(let host, let incarnation, let event):
            if hosts[host].incarnation == incarnation { deliver(event, to: host) }
        case .timer(let host, let incarnation):
            guard hosts[host].incarnation == incarnation, hosts[host].timer <= now else { return }
            hosts[host].timer = .distantFuture
            deliver(.time, to: host)
        case .expiry: expire()
        case .elected: elect()
        case .serverUp(let server): recover(server)
        case .wake(let host): wake(host)
        case .boot(let host): boot(host)
        case .uncut(let host): hosts[host].isCut = false
        case .disturb: disturb()
        case .calm: calm()
        case .check: check()
        case .trouble: trouble()
        }
    }

    /// Gives a host an event, unless its process is stopped or dead.
    mutating func deliver(_ event: FleetMember.Event, to host: Int) {
        switch hosts[host].process {
        case .dead: return
        case .stopped:
            if event != .time { hosts[host].inbox.append(event) }
            return
        case .running: break
        }
        let actions = hosts[host].member.handle(event, at: hosts[host].clock.local(now))
        for action in actions { carryOut(action, host: host) }
        setTimer(of: host)
    }

    /// Sets the host's timer. A timer fires a little late.
    private mutating func setTimer(of host: Int) {
        guard let due = hosts[host].member.due else { return }
        let time = max(now, hosts[host].clock.time(due)) + (isTroubled ? milliseconds(0...30) - now : .zero)
        guard time < hosts[host].timer else { return }
        hosts[host].timer = time
        queue.insert(.timer(host: host, incarnation: hosts[host].incarnation), at: time)
    }

    /// Returns a new member for the host with this index, as its process creates it at its start.
    mutating func member(_ index: Int) -> FleetMember {
        let cores = Int64(shape.channels * 2 / max(1, shape.hosts) + 3) * 1000
        let profile = HostProfile(
            name: "host-\(index)", labels: index.isMultiple(of: 2) ? ["even"] : ["odd"],
            capacity: Resources(milliCores: cores, diskBytesPerSecond: 1 << 40, networkBitsPerSecond: 1 << 40))
        return FleetMember(
            profile, seed: random.next(), endpoints: servers.states.count, quorumLoss: shape.quorumLoss,
            timing: shape.timing)
    }

    private mutating func demand() -> ChannelDemand {
        if shape.isUniform { return ChannelDemand(cost: Resources(milliCores: 1000)) }
        let needs: [Set<String>] = [[], [], [], ["even"], ["odd"]]
        let prefers: [Set<String>] = [[], [], ["odd"], ["host-0"]]
        return ChannelDemand(
            needs: random.pick(needs), prefers: random.pick(prefers), cost: Resources(milliCores: 1000))
    }

    /// A time in this many milliseconds from now, at random.
    mutating func milliseconds(_ range: ClosedRange<Int64>) -> TrueInstant {
        now
            + .nanoseconds(
                Int64.random(in: range.lowerBound * 1_000_000...range.upperBound * 1_000_000, using: &random))
    }

    /// A time in this many seconds from now.
    func seconds(_ seconds: Int64) -> TrueInstant { now + .seconds(seconds) }

    /// Returns true with this chance, in thousandths.
    mutating func chance(_ thousandths: Int) -> Bool { Int.random(in: 0..<1000, using: &random) < thousandths }
}

/// How often each kind of event has happened in a walk. Tests check these numbers.
struct WalkFigures: Equatable {
    var steps = 0
    var starts = 0
    var takeovers = 0
    var handovers = 0
    var failedHandovers = 0
    var leasesLost = 0
    var checks = 0
}
