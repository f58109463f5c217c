// SPDX-License-Identifier: Apache-2.0

/// What all parts of one simulation share.
struct SimulationContext: Sendable {
    let clock: SimulatedClock
    let program: SimulatedProgram
    let faults: SimulationFaults
}
