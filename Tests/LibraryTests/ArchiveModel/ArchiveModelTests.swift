// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// The recorder, retention, the uploader and the catalogue work in real directories, while a machine generates crashes,
/// wrong clocks, failing disks, damaged files, operators and users. A model knows which files must be there. A failure
/// names its seed and the last operations; `RELAY_TEST_SEED` repeats the walk, and `RELAY_SIMULATION_STEPS` walks more
/// seeds.
@Suite("The archive against a model")
struct ArchiveModelTests {
    private static let settings = SimulationSettings(steps: 40, usualSeeds: 3)

    // One walk after the other: each one has files open and waits for the disk.
    @Test(
        "Whatever crashes, clocks, disks and users do, no protected or foreign file is lost, and recording continues",
        .serialized, arguments: ArchiveModelTests.settings.seeds)
    func walk(seed: UInt64) async throws {
        let walk = try ArchiveWalk(seed: seed)
        let fault = await walk.run(steps: Self.settings.steps)
        #expect(fault == nil, "RELAY_TEST_SEED=\(seed)")
    }

    @Test("The model detects if retention deletes files without checking whether they are still needed")
    func notices() async throws {
        for seed: UInt64 in 1001...1020 {
            let walk = try ArchiveWalk(seed: seed, heedsVetoes: false)
            if await walk.run(steps: Self.settings.steps)?.contains("although it") == true { return }
        }
        Issue.record("20 walks have found nothing")
    }
}
