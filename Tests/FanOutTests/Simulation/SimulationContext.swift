// SPDX-License-Identifier: Apache-2.0

/// The objects that all parts of one simulation share.
struct SimulationContext: Sendable {
    let clock: SimulatedClock
    let program: SimulatedProgram
    let faults: SimulationFaults
    /// Runs the attempts.
    let attempts = SimulatedQueue()
    let writer = SimulatedWriter()
}
