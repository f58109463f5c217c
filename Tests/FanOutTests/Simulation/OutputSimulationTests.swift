// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Simulations in which networks lose, delay and reorder data, and forget connections; servers close, refuse, restart,
/// answer late and read slowly, also several times within one connection and while an output ends; and operators act at
/// any moment. A failure names its seed. `RELAY_TEST_SEED` repeats the walk with that seed, and `RELAY_SIMULATION_STEPS`
/// sets the number of steps and so the number of walks.
@Suite("Simulated outputs")
struct OutputSimulationTests {
    /// Each walk simulates some minutes of a program.
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
