// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import TestSupport
import Testing

@testable import Archive
@testable import Segmenter

@Suite("Retention while the wall clock is wrong")
struct ClockTrustTests {
    private static let now: Int64 = 1_800_000_000_000
    private static let hour: Int64 = 3_600_000
    private static let day = 24 * hour
    private static let rules = RetentionRules(maximumAge: .seconds(72 * 3600))

    /// Returns an archive of `count` hourly files; the last one ended just now.
    private func archive(_ count: Int = 72) -> [StoredSegment] {
        (1...count).map { number in
            StoredSegment(
                fileName: "file-\(number)", sequence: number, bytes: 1_000_000_000,
                ended: UTCTime(milliseconds: Self.now - Int64(count - number) * Self.hour), isFinished: true)
        }
    }

    /// Returns the plan after `hours` of running, when the wall clock is `ahead` milliseconds ahead of the true time.
    private func look(
        _ policy: inout RetentionPolicy, _ files: [StoredSegment], hours: Double = 0, ahead: Int64 = 0,
        confirmed: Bool = false, space: DiskSpace? = nil
    ) -> RetentionPolicy.Plan {
        let running = Int64(hours * Double(Self.hour))
        return policy.plan(
            .init(
                segments: files, wallClock: UTCTime(milliseconds: Self.now + running + ahead),
                now: .zero + .milliseconds(running),
                space: space, isConfirmed: confirmed)
        ) { _ in true }
    }

    private func seen(confirmed: Bool = true) -> RememberedClock {
        RememberedClock(lastSeen: UTCTime(milliseconds: Self.now), isConfirmed: confirmed)
    }

    @Test(
        "If the clock is ahead at the start, only files that are certainly old are deleted by age",
        arguments: [true, false])
    func ahead(isRemembered: Bool) {
        for ahead in [19 * Self.hour, 10 * Self.day, 365 * Self.day] {
            var policy = RetentionPolicy(rules: Self.rules, leastFree: 0, memory: isRemembered ? seen() : nil)
            let first = look(&policy, archive(), ahead: ahead)
            #expect(first.deletions.isEmpty && first.problem?.contains("may not be") == true)
            // In each hour, the file that has become 72 hours old is deleted.
            #expect(look(&policy, archive(), hours: 10, ahead: ahead).deletions.map(\.segment.sequence) == Array(1...9))
            #expect(look(&policy, archive(), hours: 72.5, ahead: ahead).deletions.count == 72)
            // The problem is also reported if --keep-min keeps all files.
            guard ahead > 72 * Self.hour else { continue }
            var other = RetentionPolicy(rules: Self.rules, leastFree: 0, memory: isRemembered ? seen() : nil)
            #expect(look(&other, archive(1), ahead: ahead).problem?.contains("may not be") == true)
        }
    }

    @Test("Whether the clock is uncertain is remembered across restarts")
    func restart() {
        var memory: RememberedClock?
        for run in 0..<6 {
            var policy = RetentionPolicy(rules: Self.rules, leastFree: 0, memory: memory)
            for minute in 0..<60 {
                let hours = Double(run) + Double(minute) / 60
                let plan = look(&policy, archive(), hours: hours, ahead: 365 * Self.day)
                #expect(plan.deletions.count <= run, "at \(hours) hours")
                let running = Int64(hours * Double(Self.hour))
                memory = policy.memory(
                    .init(
                        segments: [], wallClock: UTCTime(milliseconds: Self.now + running + 365 * Self.day),
                        now: .zero + .milliseconds(running)))
            }
        }
    }

    @Test("After a month without running, files that are too old are deleted in the end, even without a time server")
    func off() {
        var alone = RetentionPolicy(rules: Self.rules, leastFree: 0, memory: seen())
        #expect(look(&alone, archive(), ahead: 30 * Self.day).deletions.isEmpty)
        #expect(look(&alone, archive(), hours: 73, ahead: 30 * Self.day).deletions.count == 72)
        // With a time server, four hours of files are deleted in each hour, so a quarter of --keep is enough time to
        // delete them all.
        var kept = RetentionPolicy(rules: Self.rules, leastFree: 0, memory: seen())
        let first = look(&kept, archive(), ahead: 30 * Self.day, confirmed: true)
        #expect(first.deletions.isEmpty && first.problem?.contains("step by step") == true)
        let counts = [1, 2, 9, 18].map { look(&kept, archive(), hours: $0, ahead: 30 * Self.day, confirmed: true) }
        #expect(counts.map(\.deletions.count) == [4 - 1, 8 - 1, 36 - 1, 72])
        #expect(counts.last?.problem == nil)
    }

    @Test("If a time server confirms the clock late, files are deleted fast only if the last run's clock was confirmed")
    func confirmation() {
        for wasConfirmed in [true, false] {
            var policy = RetentionPolicy(rules: Self.rules, leastFree: 0, memory: seen(confirmed: wasConfirmed))
            _ = look(&policy, archive(), ahead: 30 * Self.day)
            _ = look(&policy, archive(), hours: 0.1, ahead: 30 * Self.day, confirmed: true)
            let later = look(&policy, archive(), hours: 19, ahead: 30 * Self.day, confirmed: true)
            #expect(later.deletions.count == (wasConfirmed ? 72 : 18))
        }
    }

    @Test("If there is no time server, retention trusts the wall clock after relay was off for one night")
    func night() {
        var policy = RetentionPolicy(rules: Self.rules, leastFree: 0, memory: seen(confirmed: false))
        let plan = look(&policy, archive(), ahead: 12 * Self.hour)
        #expect(plan.deletions.map(\.segment.sequence) == Array(1...11) && plan.problem == nil)
    }

    @Test("Files dated in the future are deleted for space, oldest first, or by age once they are certainly old")
    func future() {
        let (rules, space) = (
            RetentionRules(maximumAge: .seconds(72 * 3600), minimumFree: .percent(10)),
            DiskSpace(free: 50_000_000_000, capacity: 1_000_000_000_000)
        )
        var policy = RetentionPolicy(rules: rules, leastFree: 0)
        let files = archive().map { file in
            var file = file
            file.ended.milliseconds += 365 * Self.day
            return file
        }
        let first = look(&policy, files, confirmed: true, space: space)
        #expect(first.deletions.map(\.segment.sequence) == [1] && first.reclaimableBytes > 60_000_000_000)
        // Another file follows, with the right date.
        let next = StoredSegment(
            fileName: "next", sequence: 73, bytes: 1, ended: UTCTime(milliseconds: Self.now + Self.hour),
            isFinished: true)
        #expect(look(&policy, files + [next], hours: 2, confirmed: true).deletions.isEmpty)
        let later = look(&policy, files + [next], hours: 73.5, confirmed: true)
        #expect(later.deletions.map(\.segment.sequence) == Array(1...73))
    }

    @Test("If a clock that was behind at the start is corrected, files are still deleted for free space")
    func behind() {
        let rules = RetentionRules(maximumAge: .seconds(72 * 3600), minimumFree: .percent(10))
        let space = DiskSpace(free: 50_000_000_000, capacity: 1_000_000_000_000)
        var policy = RetentionPolicy(rules: rules, leastFree: 0, memory: seen())
        #expect(look(&policy, archive(), ahead: -700 * Self.day, space: space).deletions.count == 1)
        #expect(look(&policy, archive(), hours: 0.1, ahead: 0, confirmed: true, space: space).deletions.count == 1)
    }

    @Test("Files recorded while the clock was behind do not count as old after the clock is corrected")
    func own() {
        var policy = RetentionPolicy(rules: Self.rules, leastFree: 0, memory: seen())
        _ = look(&policy, archive(), ahead: -700 * Self.day)
        let new = StoredSegment(
            fileName: "new", sequence: 73, bytes: 1, ended: UTCTime(milliseconds: Self.now - 700 * Self.day),
            isFinished: true)
        func plan(_ hours: Int64) -> RetentionPolicy.Plan {
            policy.plan(
                .init(
                    segments: [new], wallClock: UTCTime(milliseconds: Self.now + hours * Self.hour),
                    now: .zero + .milliseconds(hours * Self.hour), isConfirmed: true, own: ["new"])
            ) { _ in true }
        }
        #expect(plan(1).deletions.isEmpty)
        #expect(plan(71).deletions.isEmpty)
        #expect(plan(74).deletions.count == 1)
    }

    // Regression: a file that was completed after a crash counted as a file of an earlier run, although it was dated by
    // the clock that was behind. It was deleted within a minute after a time server had corrected the clock.
    @Test("Files completed after a crash while the clock was behind do not count as old after the clock is corrected")
    func recovered() {
        var policy = RetentionPolicy(rules: Self.rules, leastFree: 0, memory: seen())
        _ = look(&policy, archive(), ahead: -700 * Self.day)
        let new = StoredSegment(
            fileName: "new", sequence: 73, bytes: 1, ended: UTCTime(milliseconds: Self.now - 700 * Self.day),
            isFinished: true)
        func plan(_ hours: Int64) -> RetentionPolicy.Plan {
            policy.plan(
                .init(
                    segments: [new], wallClock: UTCTime(milliseconds: Self.now + hours * Self.hour),
                    now: .zero + .milliseconds(hours * Self.hour), isConfirmed: true, recovered: ["new"])
            ) { _ in true }
        }
        #expect(plan(1).deletions.isEmpty)
        #expect(plan(71).deletions.isEmpty)
        #expect(plan(74).deletions.count == 1)
    }

    @Test("The file with the clock state is read back as it was written, and a torn or foreign file is ignored")
    func remembered() throws {
        let temporary = try TemporaryDirectory()
        let directory = try RecordDirectory.prepare(temporary.path)
        #expect(RememberedClock.read(of: "a b", in: directory) == nil)
        for length in [0, 1, Int64.max] {
            let clock = RememberedClock(
                lastSeen: UTCTime(milliseconds: min(length, 8_999_999_999_999)), isConfirmed: length == 1,
                least: .init(length: length, left: 3), greatest: .init(length: .max, left: length),
                lag: .init(length: 5, left: .max))
            try clock.write(of: "a b", in: directory)
            #expect(RememberedClock.read(of: "a b", in: directory) == clock)
            #expect(RememberedClock.read(of: "c", in: directory) == nil)
            #expect(clock.text.utf8.count == 256)
        }
        let text = seen().text
        #expect(RememberedClock(text: text) == seen())
        let changed = text.replacing("1800000000000", with: "1800000000001")
        for wrong in ["", "relay-clock-1", changed, String(text.dropLast(232))] {
            #expect(RememberedClock(text: wrong) == nil)
        }
    }

    /// A simulated machine with its clock and its archive, and retention.
    private struct World {
        var random: SeededRandom
        /// The true time, which no part of the simulation can read.
        var time = ClockTrustTests.now
        /// How far the wall clock is ahead of the true time.
        var ahead: Int64 = 0
        var isConfirmed = false
        var files: [(file: StoredSegment, ended: Int64)] = []
        var policy: RetentionPolicy
        let rules: RetentionRules
        var own: Set<String> = []
        var memory: RememberedClock?
        var started: Int64 = 0
        var sequence = 0

        static let step: Int64 = 600_000

        init(_ random: SeededRandom) {
            self.random = random
            let bytes: Int64? = Bool.random(using: &self.random) ? 30 : nil
            rules = RetentionRules(maximumAge: .seconds(24 * 3600), maximumBytes: bytes)
            policy = RetentionPolicy(rules: rules, leastFree: 0)
        }

        mutating func record() {
            sequence += 1
            let file = StoredSegment(
                fileName: "\(sequence)", sequence: sequence, bytes: 1, ended: UTCTime(milliseconds: time + ahead),
                isFinished: true)
            files.append((file, time))
            own.insert(file.fileName)
        }

        /// Sets the clock, by a time server or wrongly.
        mutating func setClock() {
            isConfirmed = Bool.random(using: &random)
            let years = Int64.random(in: -3...3, using: &random)
            ahead = isConfirmed ? 0 : years * 365 * day + Int64.random(in: 0...30 * day, using: &random)
        }

        mutating func restart(off: Int64) {
            time += off
            if Int.random(in: 0..<3, using: &random) == 0 { setClock() }
            policy = RetentionPolicy(rules: rules, leastFree: 0, memory: memory)
            (own, started) = ([], time)
        }

        /// Runs retention once, and returns the files that were deleted too early.
        mutating func look() -> [String] {
            let look = RetentionPolicy.Look(
                segments: files.map(\.file), wallClock: UTCTime(milliseconds: time + ahead),
                now: .zero + .milliseconds(time - started), isConfirmed: isConfirmed, own: own)
            let plan = policy.plan(look) { _ in true }
            memory = policy.memory(look)
            var faults: [String] = []
            for deletion in plan.deletions {
                let name = deletion.segment.fileName
                guard let index = files.firstIndex(where: { $0.file.fileName == name }) else { continue }
                let age = time - files[index].ended
                // A file can be deleted too early by a quarter of --keep, because retention accepts such a difference
                // at the start of a run, and by 10 minutes for each step between files that are dated in the future.
                let least = deletion.rule == .age ? 18 * hour : hour
                if age < least - 15 * 60_000 {
                    faults.append("\(deletion.rule): \(age / 60_000) min old, clock \(ahead / 60_000) min ahead")
                }
                files.remove(at: index)
            }
            return faults
        }
    }

    @Test("For any sequence of clock changes retention deletes no young file, and every old file in the end")
    func simulation() {
        var seeds = SeededRandom()
        for _ in 0..<40 {
            var world = World(SeededRandom(seed: seeds.next()))
            var faults: [String] = []
            for _ in 0..<Int.random(in: 0...60, using: &world.random) {
                world.record()
                world.time += Self.hour / 2
            }
            if Bool.random(using: &world.random) { world.setClock() }
            world.restart(off: 0)
            for _ in 0..<Int.random(in: 1...12, using: &world.random) {
                for step in 0..<Int.random(in: 1...200, using: &world.random) {
                    world.time += World.step
                    if step % 3 == 0 { world.record() }
                    faults += world.look()
                }
                switch Int.random(in: 0..<4, using: &world.random) {
                case 0: world.setClock()
                case 1: world.restart(off: Int64.random(in: 0...60 * Self.day, using: &world.random))
                default: world.restart(off: Int64.random(in: 0...600_000, using: &world.random))
                }
            }
            // 50 hours without a restart or a clock change follow: twice --keep, plus the time by which limited steps
            // between files can delay deletions.
            for step in 0..<300 {
                world.time += World.step
                if step % 3 == 0 { world.record() }
                faults += world.look()
            }
            #expect(faults == [])
            let oldest = world.files.map { world.time - $0.ended }.max() ?? 0
            #expect(oldest <= 26 * Self.hour, "a file of \(oldest / 60_000) min is left")
        }
    }
}
