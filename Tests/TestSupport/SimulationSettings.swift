// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The length of a simulation, which consists of random walks. In the environment, `RELAY_SIMULATION_STEPS` sets the
/// number of steps of each kind of walk, for all seeds together, and `RELAY_TEST_SEED` sets the only seed.
package struct SimulationSettings: Sendable {
    /// The number of steps of one walk.
    package let steps: Int
    /// The seeds of the walks, one for each walk.
    package let seeds: [UInt64]

    /// Creates settings for walks of `steps` steps. If the environment sets nothing, there are `usualSeeds` walks.
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
