// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Machines that make the faults: networks that cut, delay and forget, servers that close, refuse, restart, answer late
/// and read slowly, operators at any moment. A failure names its seed; `RELAY_TEST_SEED` walks it again, and
/// `RELAY_SIMULATION_STEPS` walks more of them.
@Suite("Simulated outputs")
struct OutputSimulationTests {
    /// A walk takes some minutes of a program.
    private static let settings = SimulationSettings(steps: 2500, usualSeeds: 10)

    @Test(
        "In simulated network and server faults an output counts every lost frame and comes back on air",
        arguments: OutputSimulationTests.settings.seeds)
    func outputs(seed: UInt64) {
        let faults = OutputWalk(seed: seed).run(steps: Self.settings.steps)
        #expect(faults == [], "RELAY_TEST_SEED=\(seed)")
    }

    @Test(
        "In random use a queue counts each lost packet and sends no frame without the frame that it refers to",
        arguments: OutputSimulationTests.settings.seeds)
    func queues(seed: UInt64) {
        var walk = QueueWalk(seed: seed)
        let fault = walk.run(steps: Self.settings.steps)
        #expect(fault == nil, "RELAY_TEST_SEED=\(seed)")
    }

    @Test(
        "After any order of events an output has ended each of its connection attempts, and no wait is endless",
        arguments: OutputSimulationTests.settings.seeds)
    func machines(seed: UInt64) {
        var walk = MachineWalk(seed: seed)
        let fault = walk.run(steps: Self.settings.steps)
        #expect(fault == nil, "RELAY_TEST_SEED=\(seed)")
    }
}
