// SPDX-License-Identifier: Apache-2.0

import Fleet
import Media
import TestSupport
import Testing

/// Simulations of whole fleets. A failure names its seed. `RELAY_TEST_SEED` repeats the walk with that seed, and
/// `RELAY_SIMULATION_STEPS` sets the number of steps of all walks together.
@Suite("Simulated fleets")
struct FleetSimulationTests {
    private static let settings = SimulationSettings(steps: 20_000, usualSeeds: 15)

    @Test(arguments: FleetSimulationTests.settings.seeds)
    func `In any trouble no two hosts may send a channel at once; after it every channel is on air`(seed: UInt64) {
        var random = SeededRandom(seed: seed ^ 0x5EED)
        let hosts = random.pick([2, 3, 3, 5, 8, 20])
        var walk = FleetWalk(FleetWalk.Shape(hosts: hosts, channels: hosts * random.pick([1, 3, 6])), seed: seed)
        let faults = walk.run(steps: Self.settings.steps)
        #expect(faults == [], "RELAY_TEST_SEED=\(seed) \(walk.figures)")
        print("seed \(seed): \(hosts) hosts, \(walk.now.nanoseconds / 1_000_000_000) s, \(walk.figures)")
    }

    /// Whether the environment asks for more than the short form.
    private static let isLong = settings.seeds.count > 15

    @Test(.enabled(if: FleetSimulationTests.isLong), arguments: [(60, 600), (200, 2000)])
    func `In a large fleet, too, no two hosts may send a channel at once; after faults every channel is on air`(
        hosts: Int, channels: Int
    ) {
        var walk = FleetWalk(FleetWalk.Shape(hosts: hosts, channels: channels), seed: 1)
        #expect(walk.run(until: walk.seconds(240)) == [])
        #expect(walk.figures.checks > 0)
        print("\(hosts) hosts, \(channels) channels: \(walk.figures)")
    }

    /// The fleet whose requests are counted: 200 hosts and 2000 channels, and less in the short form.
    private static let large =
        isLong
        ? FleetWalk.Shape(hosts: 200, channels: 2000, hasTrouble: false)
        : FleetWalk.Shape(hosts: 30, channels: 300, hasTrouble: false)

    @Test func `A large fleet sends few requests to the store, both without changes and when a host dies`() {
        let channels = Self.large.channels
        var walk = FleetWalk(Self.large, seed: 1)
        #expect(walk.run(until: 25_000_000_000) == [])
        #expect(walk.channelsOnAir == channels)
        let loads = walk.hosts.map(\.channels.count).sorted()
        let (begin, claims) = (walk.requestCount, walk.requests["claim"] ?? 0)
        // Each failed claim names a channel that another host got in the same moment.
        #expect(claims < channels * 2)
        #expect(walk.run(until: 45_000_000_000) == [])
        // A keep-alive each 1.67 s, a read and a watch each 3 s for each host, and nothing for each channel.
        let inRest = Double(walk.requestCount - begin) / 20 / Double(channels)
        #expect(inRest < 0.15)
        #expect(walk.requests["claim"] == claims)

        let fullest = walk.hosts.indices.max { walk.hosts[$0].channels.count < walk.hosts[$1].channels.count } ?? 0
        let (starts, lost) = (walk.figures.starts, walk.hosts[fullest].channels.count)
        walk.kill(fullest)
        #expect(walk.run(until: 55_000_000_000) == [])
        #expect(walk.channelsOnAir == channels)
        #expect(walk.figures.starts - starts == lost && lost > 0)
        let asked = (walk.requests["claim"] ?? 0) - claims
        // Most hosts learn that a channel is taken before their wait ends.
        #expect(asked < 5 * lost)
        let gaps = walk.ledger.gaps.map(\.inMilliseconds)
        print(
            "channels of a host: \(loads.first ?? 0) to \(loads.last ?? 0); requests in rest for a channel and second: "
                + "\(inRest); claims at the start: \(claims) for \(channels) channels; when a host died: \(asked) for "
                + "\(lost) channels, off air \(gaps.min() ?? 0) to \(gaps.max() ?? 0) ms")
    }

    @Test func `Hosts that are configured to keep sending stay on air while no server of the store answers`() {
        var walk = FleetWalk(FleetWalk.Shape(hosts: 5, channels: 20, quorumLoss: .keep, hasTrouble: false), seed: 1)
        #expect(walk.run(until: 20_000_000_000) == [])
        #expect(walk.channelsOnAir == 20)
        let starts = walk.figures.starts
        walk.loseAllServers()
        for second in 21...70 {
            #expect(walk.run(until: .zero + .seconds(second)) == [])
            #expect(walk.channelsOnAir == 20)
        }
        #expect(walk.figures.starts == starts && walk.figures.leasesLost == 0)
    }

    @Test func `Hosts that are configured to stop are off air while the store is away, and on air again soon after`() {
        var walk = FleetWalk(FleetWalk.Shape(hosts: 5, channels: 20, hasTrouble: false), seed: 1)
        #expect(walk.run(until: 20_000_000_000) == [])
        #expect(walk.channelsOnAir == 20)
        walk.servers.leader = nil
        #expect(walk.run(until: 26_000_000_000) == [])
        #expect(walk.channelsOnAir == 0)
        walk.elect()
        #expect(walk.run(until: 40_000_000_000) == [])
        #expect(walk.channelsOnAir == 20)
    }
}
