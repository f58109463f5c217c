// SPDX-License-Identifier: Apache-2.0

import Testing

/// Machines that make the faults: networks that cut, delay and forget, servers that close, refuse, restart, answer late
/// and read slowly, operators at any moment. A failure names its seed; `RELAY_TEST_SEED` walks it again, and
/// `RELAY_SIMULATION_STEPS` walks more of them.
@Suite("Simulated outputs")
struct OutputSimulationTests {
    @Test(
        "Whatever networks, servers and operators do, an output loses nothing uncounted and comes back",
        arguments: SimulationSettings.seeds)
    func outputs(seed: UInt64) {
        let faults = OutputWalk(seed: seed).run(steps: SimulationSettings.steps)
        #expect(faults == [], "RELAY_TEST_SEED=\(seed)")
    }

    @Test(
        "However a queue is filled, read and held, it counts each loss and sends no frame without its reference",
        arguments: SimulationSettings.seeds)
    func queues(seed: UInt64) {
        var walk = QueueWalk(seed: seed)
        let fault = walk.run(steps: SimulationSettings.steps)
        #expect(fault == nil, "RELAY_TEST_SEED=\(seed)")
    }

    @Test(
        "In whatever order events come, an output ends each attempt that it begins, and each of its waits has an end",
        arguments: SimulationSettings.seeds)
    func machines(seed: UInt64) {
        var walk = MachineWalk(seed: seed)
        let fault = walk.run(steps: SimulationSettings.steps)
        #expect(fault == nil, "RELAY_TEST_SEED=\(seed)")
    }
}
