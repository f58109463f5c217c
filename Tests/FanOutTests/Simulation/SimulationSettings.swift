// SPDX-License-Identifier: Apache-2.0

import Foundation

/// How long the simulations walk. `RELAY_SIMULATION_STEPS` in the environment sets the number of steps of each kind of
/// walk, all seeds together; `RELAY_TEST_SEED` sets the only seed.
enum SimulationSettings {
    /// The steps of one walk: some minutes of a program.
    static let steps = 2500

    private static let usualSeeds: UInt64 = 10

    /// The seeds of the walks.
    static let seeds: [UInt64] = {
        if let seed = number("RELAY_TEST_SEED") { return [seed] }
        let count = number("RELAY_SIMULATION_STEPS").map { max(1, $0 / UInt64(steps)) } ?? usualSeeds
        return Array(1...count)
    }()

    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }
}
