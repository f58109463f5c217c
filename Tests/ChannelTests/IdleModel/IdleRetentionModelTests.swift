// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The retention of a channel that is off works in a real directory, while files are recorded, held and queued for
/// upload, another process records, relay restarts, and the clock is set back and ahead. A model knows which files must
/// stay. A failure names its seed and the last operations; `RELAY_TEST_SEED` repeats the walk, and
/// `RELAY_SIMULATION_STEPS` walks more seeds.
@Suite("Retention while a channel is not recorded, against a model")
struct IdleRetentionModelTests {
    private static let settings = SimulationSettings(steps: 60, usualSeeds: 3)

    @Test(
        "While a channel is off, no file is deleted that a recording's retention keeps, and old files are deleted",
        .serialized, arguments: IdleRetentionModelTests.settings.seeds)
    func walk(seed: UInt64) async throws {
        let fault = try await IdleRetentionWalk(seed: seed).run(steps: Self.settings.steps)
        #expect(fault == nil, "RELAY_TEST_SEED=\(seed)")
    }

    @Test("The model notices when a file is deleted that it believes to be held")
    func notices() async throws {
        for seed: UInt64 in 1001...1020 {
            let walk = try IdleRetentionWalk(seed: seed, marksHolds: false)
            if try await walk.run(steps: Self.settings.steps)?.contains("although it is held") == true { return }
        }
        Issue.record("20 walks have found nothing")
    }
}
