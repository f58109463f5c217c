// SPDX-License-Identifier: Apache-2.0

import Fleet
import Media
import TestSupport
import Testing

/// Tests of single events in a simulated fleet, such as how long a takeover or a planned move takes in simulated time.
@Suite("Simulated events of a fleet")
struct FleetScenarioTests {
    /// A fleet all of whose channels are on air.
    private static func fleet(
        seed: UInt64, hosts: Int = 3, channels: Int = 9, timing: FleetTiming = FleetTiming()
    ) -> FleetWalk {
        let shape = FleetWalk.Shape(
            hosts: hosts, channels: channels, timing: timing, hasTrouble: false, isUniform: true)
        var walk = FleetWalk(shape, seed: seed)
        #expect(walk.run(until: walk.seconds(20)) == [])
        #expect(walk.channelsOnAir == channels)
        return walk
    }

    /// The host with the most channels.
    private static func fullest(_ walk: FleetWalk) -> Int {
        walk.hosts.indices.max { walk.hosts[$0].channels.count < walk.hosts[$1].channels.count } ?? 0
    }

    /// The times for which channels were off air after one host was killed, in milliseconds, in order.
    private static func takeovers(_ fault: (inout FleetWalk) -> Void) -> [Int64] {
        (1...30 as ClosedRange<UInt64>).flatMap { seed in
            var walk = fleet(seed: seed)
            // The kill comes at any time between two keep-alives.
            #expect(walk.run(until: walk.milliseconds(0...1700)) == [])
            walk.kill(fullest(walk))
            fault(&walk)
            #expect(walk.run(until: walk.seconds(15)) == [])
            #expect(walk.channelsOnAir == 9, "RELAY_TEST_SEED=\(seed)")
            return walk.ledger.gaps.map(\.inMilliseconds)
        }.sorted()
    }

    private static func summary(_ times: [Int64]) -> String {
        "\(times.count) times: \(times.first ?? 0), median \(times[times.count / 2]), worst \(times.last ?? 0) ms"
    }

    @Test func `The channels of a killed host are on air elsewhere after the rest of its lease`() {
        let times = Self.takeovers { _ in }
        print("takeover: \(Self.summary(times))")
        #expect(times.first ?? 0 > 3000 && times.last ?? .max < 6000)
    }

    @Test func `If the store's leader ends in the same moment, the takeover waits for an election and a whole lease`() {
        let times = Self.takeovers { $0.loseLeader() }
        print("takeover, leader lost: \(Self.summary(times))")
        #expect(times.last ?? .max < 8000)
    }

    @Test(arguments: [true, false])
    func `A host that is drained or leaves hands its channels over at agreed frames, silent before the others send`(
        isDrained: Bool
    ) {
        var gaps: [Int64] = []
        for seed in 1...25 as ClosedRange<UInt64> {
            var walk = Self.fleet(seed: seed)
            let host = Self.fullest(walk)
            let moves = walk.hosts[host].channels.count
            if isDrained {
                walk.write(FleetKey(.drain, "host-\(host)"), .mark)
            } else {
                walk.leaving = [host]
                walk.deliver(.leave, to: host)
            }
            #expect(walk.run(until: walk.seconds(15)) == [])
            #expect(walk.figures.handovers == moves && walk.figures.failedHandovers == 0)
            #expect(walk.hosts[host].channels == [] && walk.channelsOnAir == 9)
            gaps += walk.ledger.gaps.map(\.inMilliseconds)
        }
        print("planned moves: silent for \(Self.summary(gaps.sorted()))")
        #expect(gaps.max() ?? .max < 100)
    }

    @Test func `The simulation finds hosts that may send for longer than their leases live`() {
        var timing = FleetTiming()
        timing.margin = .seconds(-2)
        let found = (1...30 as ClosedRange<UInt64>).contains { seed in
            var walk = FleetWalk(FleetWalk.Shape(hosts: 5, channels: 15, timing: timing), seed: seed)
            return walk.run(steps: 20_000).contains { $0.contains("may both send") }
        }
        #expect(found)
    }

    @Test func `The simulation finds hosts that all claim a channel in the same moment`() {
        var timing = FleetTiming()
        let claims = [timing.spread, .zero ... .zero].map { spread in
            timing.spread = spread
            var walk = Self.fleet(seed: 1, hosts: 40, channels: 80, timing: timing)
            let host = Self.fullest(walk)
            let (before, lost) = (walk.requests["claim"] ?? 0, walk.hosts[host].channels.count)
            walk.kill(host)
            #expect(walk.run(until: walk.seconds(10)) == [])
            #expect(walk.channelsOnAir == 80)
            return ((walk.requests["claim"] ?? 0) - before) / max(1, lost)
        }
        #expect(claims[0] < 5 && claims[1] > 2 * claims[0], "\(claims)")
    }
}
