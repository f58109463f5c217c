// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// How long the archive is simulated. `RELAY_SIMULATION_STEPS` in the environment sets the number of operations, all
/// seeds together; `RELAY_TEST_SEED` sets the only seed.
enum ArchiveModelSettings {
    /// The operations of one walk.
    static let steps = 40

    private static let usualSeeds: UInt64 = 3

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

/// The recorder, retention, the uploader and the catalogue work in real directories, while a machine generates crashes,
/// wrong clocks, failing disks, damaged files, operators and users. A model knows which files must be there. A failure
/// names its seed and the last operations; `RELAY_TEST_SEED` repeats the walk, and `RELAY_SIMULATION_STEPS` walks more
/// seeds.
@Suite("The archive against a model")
struct ArchiveModelTests {
    // One walk after the other: each one has files open and waits for the disk.
    @Test(
        "Whatever crashes, clocks, disks and users do, no protected or foreign file is lost, and recording continues",
        .serialized, arguments: ArchiveModelSettings.seeds)
    func walk(seed: UInt64) async throws {
        let walk = try ArchiveWalk(seed: seed)
        let fault = await walk.run(steps: ArchiveModelSettings.steps)
        #expect(fault == nil, "RELAY_TEST_SEED=\(seed)")
    }

    @Test("The model notices when retention deletes files without asking what else needs them")
    func notices() async throws {
        for seed: UInt64 in 1001...1020 {
            let walk = try ArchiveWalk(seed: seed, heedsVetoes: false)
            if await walk.run(steps: ArchiveModelSettings.steps)?.contains("although it") == true { return }
        }
        Issue.record("20 walks have found nothing")
    }
}
