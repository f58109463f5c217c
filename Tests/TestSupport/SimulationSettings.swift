// SPDX-License-Identifier: Apache-2.0

import Foundation

/// How long a simulation walks. `RELAY_SIMULATION_STEPS` in the environment sets the number of steps of each kind of
/// walk, all seeds together; `RELAY_TEST_SEED` sets the only seed.
package struct SimulationSettings: Sendable {
    /// The steps of one walk.
    package let steps: Int
    /// The seeds of the walks.
    package let seeds: [UInt64]

    /// Settings for walks of this many `steps`. Without the environment there are `usualSeeds` walks.
    package init(steps: Int, usualSeeds: UInt64) {
        self.steps = steps
        if let seed = Self.number("RELAY_TEST_SEED") {
            seeds = [seed]
        } else {
            let count = Self.number("RELAY_SIMULATION_STEPS").map { max(1, $0 / UInt64(steps)) } ?? usualSeeds
            seeds = Array(1...count)
        }
    }

    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }
}
