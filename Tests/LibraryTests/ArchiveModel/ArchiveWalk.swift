// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Segmenter
import TestSupport

/// One walk: a sequence of random operations on one archive.
final class ArchiveWalk {
    private enum Operation: CaseIterable {
        case record, look, upload, killedUpload, hold, clip, delete, wait, crash, restart, clock
        case foreign, rename, damage, catalogue, disk, swap, fill, outage, lostCatalogue, rival, lateMount

        /// The operations. An operation that is to happen more often occurs several times.
        static let weighted = withoutLateMounts + [.lateMount, .lateMount]

        /// The operations of the walks from before there were late mounts.
        static let withoutLateMounts: [Operation] = {
            var all = Operation.allCases.filter { $0 != .lateMount }
            all += [Operation](repeating: .record, count: 5)
            all += [.look, .look, .upload, .upload, .hold, .clip, .wait, .wait, .restart, .foreign, .rename, .disk]
            return all
        }()
    }

    /// The maximum rounding error of a file's date.
    private static let rounding = Duration.milliseconds(5)
    /// After this number of operations, all disturbances end, and everything must become right again.
    private static let settlingInterval = 20
    /// The number of operations that are reported with a fault.
    private static let shownOperations = 30
    private static let templates = [
        "{channel}_{start}_{sequence}", "%Y-%m-%d/{channel}_{start}_{sequence}", "{channel}/{date}/{time}_{sequence}",
        "{date}_{time}_{sequence}", "rec {channel}/{sequence}", "{channel}_{time}", "{start}_{channel}",
    ]
    /// Pairs of channels, some of which have nearly the same names.
    private static let channels = [
        ("test", "other"), ("test", "test-1"), ("test-1", "test"), ("cam1", "cam"), ("a_b", "a"), ("2020", "202"),
    ]

    let seed: UInt64
    /// Whether the disk is sometimes mounted only after relay has started.
    private let hasLateMounts: Bool
    /// The mount point of the archive's disk, which ``memory`` asks whether the disk is mounted.
    let mount: SimulatedMount
    /// Relay's memory of mounted disks. It stores nothing unless ``remembersMounts`` is set.
    let memory: MountMemory
    /// Whether relay remembers mounted disks.
    let remembersMounts: Bool
    /// Whether retention asks its vetoes before it deletes a file. If it does not, the walk must find faults.
    let heedsVetoes: Bool
    var random: SeededRandom
    let time = SimulatedTime()
    /// The directory above the archive. Another relay records to it.
    let above: TemporaryDirectory
    let surroundings: ModelPlace
    /// Contains the directories that are not at their path.
    let closet: TemporaryDirectory
    /// The directory to which relay records. It may have been moved away.
    var place: ModelPlace
    /// Directories that were replaced by another one.
    var shelf: [ModelPlace] = []
    var relay: SimulatedRelay?
    var runs: [String: ModelRun] = [:]
    let channel: String
    /// Another channel, whose files are in the same directory.
    let otherChannel: String
    let hasUploads: Bool
    /// The template of file names, as in `--record-name`.
    private(set) var names: String
    var rules = RetentionRules(minimumAge: .seconds(3600))
    /// The smallest value of `--keep-min` so far; nil before the first.
    private(set) var leastMinimum: Duration?
    /// The maximum error of a file's age, caused by clock steps that are too small to be noticed.
    var slack = Duration.zero
    /// Whether the clock was ever wrong.
    var hadWrongClock = false
    /// Whether the directory was moved away from its path, as if its disk were missing.
    var isMissing = false
    /// Whether no file can be created in the directory.
    var isReadOnly = false
    /// The disk, which other programs can fill.
    let disk = FillableDisk()
    /// Whether the directory could not be used at some moment of the present run.
    var hadTrouble = false
    /// Files that a user has moved to another directory.
    var away: [(place: ModelPlace, name: String, file: ModelPlace.OwnFile, path: String)] = []
    /// The last number that ``nextNumber()`` returned.
    private var counter = 0
    private(set) var faults: [String] = []
    private var trail: [String] = []

    /// The path of the archive.
    var path: String { above.path("studio") }

    /// Creates a walk. `hasLateMounts` is false for a seed whose walk was made before there were late mounts.
    init(seed: UInt64, heedsVetoes: Bool = true, hasLateMounts: Bool = true) throws {
        (self.seed, self.heedsVetoes, self.hasLateMounts) = (seed, heedsVetoes, hasLateMounts)
        var random = SeededRandom(seed: seed)
        hasUploads = Int.random(in: 0..<4, using: &random) > 0
        (channel, otherChannel) = random.pick(Self.channels)
        names = random.pick(Self.templates)
        remembersMounts = hasLateMounts && Bool.random(using: &random)
        self.random = random
        let above = try TemporaryDirectory()
        self.above = above
        closet = try TemporaryDirectory()
        let mount = SimulatedMount(path: above.path("studio"))
        self.mount = mount
        memory = remembersMounts ? MountMemory(directory: closet.path("memory"), mounts: mount.view) : MountMemory()
        (surroundings, place) = (ModelPlace(above.path), ModelPlace(above.path("studio")))
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try addNeighbour()
        changeRules()
    }

    /// Performs `steps` operations. Returns the first fault, with the last operations before it.
    func run(steps: Int) async -> String? {
        defer { setReadOnly(false) }
        for step in 1...steps where faults.isEmpty {
            do {
                try await act()
                if step % Self.settlingInterval == 0 || step == steps, faults.isEmpty { try await settle() }
            } catch {
                fault("an operation of the test failed: \(error)")
            }
        }
        if relay != nil { await stop() }
        guard let first = faults.first else { return nil }
        let report = """
            seed \(seed): \(first)
            mounted disks are \(remembersMounts ? "" : "not ")remembered
            channel \(channel) beside \(otherChannel), uploads: \(hasUploads)
            true time \(time.seconds) s, wall clock \(time.error / 1000) s ahead
            the last operations:
              \(trail.suffix(Self.shownOperations).joined(separator: "\n  "))
            """
        if heedsVetoes { print(report) }
        return report
    }

    private func act() async throws {
        if relay == nil { start() }
        switch random.pick(hasLateMounts ? Operation.weighted : Operation.withoutLateMounts) {
        case .record: record(Int.random(in: 1...5, using: &random))
        case .look: look()
        case .upload: await upload(Int.random(in: 0..<3, using: &random) == 0 ? .away : .none)
        case .killedUpload: try await killDuringUpload()
        case .hold: hold()
        case .clip: clip()
        case .delete: deleteByOperator()
        case .wait: wait()
        case .crash: try await crash(isUntold: Bool.random(using: &random))
        case .restart: await restart()
        case .clock: disturbClock()
        case .foreign: try addForeignFile()
        case .rename: try moveFile()
        case .damage: try damageFile()
        case .catalogue: try damageCatalogue()
        case .disk: try disturbDisk()
        case .swap: try swapDirectory()
        case .fill: fillDisk()
        case .outage: await uploadAfterOutage()
        case .lostCatalogue: try await loseCatalogue()
        case .rival: try toggleRival()
        case .lateMount: try await mountLate()
        }
    }

    /// Ends relay and starts it with other options.
    private func restart() async {
        guard relay != nil else { return }
        await stop()
        if Bool.random(using: &random) { names = random.pick(Self.templates) }
        if Bool.random(using: &random) { changeRules() }
        start()
    }

    private func changeRules() {
        let ages: [Duration?] = [nil, .seconds(5 * 3600), .seconds(20 * 3600)]
        let sizes: [Int64?] = [nil, 60_000, 150_000]
        let free: [FreeSpaceGoal?] = [nil, .bytes(300_000), .percent(50)]
        rules = RetentionRules(
            maximumAge: random.pick(ages), maximumBytes: random.pick(sizes), minimumFree: random.pick(free),
            minimumAge: random.pick([.seconds(3600), .seconds(4 * 3600)]))
        leastMinimum = min(leastMinimum ?? rules.minimumAge, rules.minimumAge)
        note("the rules are now \(rules)")
    }

    /// The minimum age at which retention may delete a file. If the clock was wrong, only the smallest
    /// `--keep-min` so far is certain, because relay remembers a wrong clock only for the duration of the present
    /// `--keep-min`.
    var protectedAge: Duration {
        (hadWrongClock ? leastMinimum ?? rules.minimumAge : rules.minimumAge) - slack - Self.rounding
    }

    /// Returns a number that was not used before.
    func nextNumber() -> Int {
        counter += 1
        return counter
    }

    /// Adds an operation to the report.
    func note(_ text: String) { trail.append("\(time.seconds) s: \(text)") }

    /// Adds a fault.
    func fault(_ text: String) { faults.append(text) }
}
