// SPDX-License-Identifier: Apache-2.0

import Fleet
import TestSupport
import Testing

@Suite("Claim policy")
struct ClaimPolicyTests {
    private let policy = ClaimPolicy()
    private let host = HostProfile(
        name: "a", labels: ["gpu", "sdi"],
        capacity: Resources(milliCores: 8000, diskBytesPerSecond: 100, networkBitsPerSecond: 1000))

    @Test func `A host is refused a channel whose labels it lacks, and the missing ones are named`() {
        let demand = ChannelDemand(needs: ["sdi", "zone-b", "arm"])
        #expect(policy.refusal(of: demand, by: host, claimed: Resources()) == .lacksLabels(["arm", "zone-b"]))
        #expect(policy.refusal(of: ChannelDemand(needs: ["sdi"]), by: host, claimed: Resources()) == nil)
    }

    @Test func `A host is refused a channel for which one of its resources does not suffice`() {
        let full = Resources(milliCores: 7000)
        let demand = ChannelDemand(cost: Resources(milliCores: 2000))
        #expect(policy.refusal(of: demand, by: host, claimed: Resources()) == nil)
        #expect(policy.refusal(of: demand, by: host, claimed: full) == .lacksHeadroom(load: 1125))
        var busy = host
        busy.measured = full
        #expect(policy.refusal(of: demand, by: busy, claimed: Resources()) == .lacksHeadroom(load: 1125))
        let disk = ChannelDemand(cost: Resources(diskBytesPerSecond: 101))
        #expect(policy.refusal(of: disk, by: host, claimed: Resources()) != nil)
        let network = ChannelDemand(cost: Resources(networkBitsPerSecond: 1001))
        #expect(policy.refusal(of: network, by: host, claimed: Resources()) != nil)
        let none = HostProfile(name: "b", capacity: Resources())
        #expect(policy.refusal(of: demand, by: none, claimed: Resources()) != nil)
        #expect(policy.refusal(of: ChannelDemand(), by: none, claimed: Resources()) == nil)
    }

    @Test func `The fuller a host is, the longer it waits, and never longer than eleven tenths of the spread`() {
        var random = SeededRandom()
        for _ in 0..<200 {
            var circumstances = ClaimPolicy.Circumstances()
            circumstances.hosts = .random(in: 1...500, using: &random)
            let jitter = Double.random(in: 0..<1, using: &random)
            let waits = [0, 2000, 4000, 8000, 90_000].map {
                policy.wait(by: host, claimed: Resources(milliCores: $0), in: circumstances, jitter: jitter)
            }
            #expect(waits == waits.sorted())
            #expect(waits.allSatisfy { $0 >= .zero && $0 <= .milliseconds(1100) })
        }
    }

    @Test func `A drain, a move elsewhere, an unmet preference and failures lengthen the wait but refuse nothing`() {
        var circumstances = ClaimPolicy.Circumstances()
        let demand = ChannelDemand(prefers: ["zone-b"])
        #expect(policy.penalty(for: ChannelDemand(prefers: ["a"]), by: host, in: circumstances) == .zero)
        #expect(policy.penalty(for: demand, by: host, in: circumstances) == .seconds(1))
        circumstances.movesTo = "a"
        #expect(policy.penalty(for: demand, by: host, in: circumstances) == .zero)
        circumstances.movesTo = "b"
        #expect(policy.penalty(for: demand, by: host, in: circumstances) == .seconds(3))
        circumstances.isDraining = true
        #expect(policy.penalty(for: demand, by: host, in: circumstances) == .seconds(13))
        circumstances = .init()
        let waits = (1...8).map { failures in
            circumstances.failures = failures
            return policy.penalty(for: ChannelDemand(), by: host, in: circumstances)
        }
        #expect(waits == [2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
    }

    @Test func `A host claims the channels that it held before first`() {
        var circumstances = ClaimPolicy.Circumstances()
        #expect(policy.order(in: circumstances, jitter: 0.9) > .zero)
        circumstances.heldBefore = true
        #expect(policy.order(in: circumstances, jitter: 0.9) == .zero)
    }

    @Test func `Random parts differ between names and rounds, and repeat with the seed`() {
        var (first, second) = (Jitter(seed: 1), Jitter(seed: 1))
        #expect(first.value(for: "a") == second.value(for: "a"))
        #expect(first.value(for: "a") != first.value(for: "b"))
        let before = first.value(for: "a")
        first.advance()
        #expect(first.value(for: "a") != before)
        second.advance()
        let values = (0..<1000).map { second.value(for: "channel-\($0)") }
        #expect(values.allSatisfy { $0 >= 0 && $0 < 1 })
        let mean = values.reduce(0, +) / 1000
        #expect(mean > 0.45 && mean < 0.55)
    }
}
