// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Archive
@testable import Segmenter

@Suite struct RetentionPolicyTests {
    private static let now = UTCTime(milliseconds: 1_800_000_000_000)
    private static let hour: Int64 = 3_600_000
    /// The memory of an earlier run that read the clock just now.
    private static let memory = RememberedClock(lastSeen: now, isConfirmed: true)

    /// Hourly files of 1 GB; the last is still open.
    private func files(_ count: Int) -> [StoredSegment] {
        (1...count).map { number in
            StoredSegment(
                fileName: "file-\(number)", sequence: number, bytes: 1_000_000_000,
                ended: UTCTime(milliseconds: Self.now.milliseconds - Int64(count - number) * Self.hour),
                isFinished: number < count)
        }
    }

    private func plan(
        _ rules: RetentionRules, _ segments: [StoredSegment], free: Int64? = nil,
        mayDelete: (StoredSegment) -> Bool = { _ in true }
    ) -> RetentionPolicy.Plan {
        var policy = RetentionPolicy(rules: rules, leastFree: 5_000_000_000, memory: Self.memory)
        let space = free.map { DiskSpace(free: $0, capacity: 1_000_000_000_000) }
        return policy.plan(.init(segments: segments, wallClock: Self.now, now: 0, space: space), mayDelete: mayDelete)
    }

    private func names(_ plan: RetentionPolicy.Plan) -> [String] { plan.deletions.map(\.segment.fileName) }

    @Test func `Files older than --keep are deleted, oldest first`() {
        let plan = plan(.init(maximumAge: .seconds(6 * 3600)), files(10))
        #expect(names(plan) == ["file-1", "file-2", "file-3"])
        #expect(plan.deletions.allSatisfy { $0.rule == .age })
        #expect(plan.problem == nil && plan.reclaimableBytes == 0)
    }

    @Test func `With --keep-size the oldest files are deleted until all files, the open one included, fit`() {
        let plan = plan(.init(maximumBytes: 7_500_000_000), files(10))
        #expect(names(plan) == ["file-1", "file-2", "file-3"])
        #expect(plan.deletions.allSatisfy { $0.rule == .size })
    }

    @Test func `A plan has the bytes that can still be recorded until the stricter limit requires a deletion`() {
        #expect(plan(.init(maximumAge: .seconds(6 * 3600)), files(10)).room == nil)
        #expect(plan(.init(maximumBytes: 12_000_000_000), files(10)).room == 2_000_000_000)
        // Three files are deleted now, so that 7 GB are left.
        #expect(plan(.init(maximumBytes: 7_500_000_000), files(10)).room == 500_000_000)
        let free = RetentionRules(minimumFree: .percent(10))
        #expect(plan(free, files(10), free: 101_000_000_000).room == 1_000_000_000)
        let both = RetentionRules(maximumBytes: 12_000_000_000, minimumFree: .percent(10))
        #expect(plan(both, files(10), free: 101_000_000_000).room == 1_000_000_000)
        #expect(plan(both, files(10), free: 200_000_000_000).room == 2_000_000_000)
        // The files are larger than the limit, and none of them may be deleted.
        #expect(plan(.init(maximumBytes: 8_000_000_000), files(10)) { _ in false }.room == -2_000_000_000)
    }

    @Test func `If both limits are set, files are deleted until the stricter limit is met`() {
        let plan = plan(.init(maximumAge: .seconds(7 * 3600), maximumBytes: 6_000_000_000), files(10))
        #expect(plan.deletions.map(\.rule) == [.age, .age, .size, .size])
    }

    @Test func `No file younger than --keep-min is deleted, and a limit that therefore cannot be met is reported`() {
        let rules = RetentionRules(maximumBytes: 1_000_000_000, minimumAge: .seconds(4 * 3600))
        let plan = plan(rules, files(10))
        #expect(names(plan) == ["file-1", "file-2", "file-3", "file-4", "file-5", "file-6"])
        #expect(plan.problem?.contains("a total of 1.0 GB cannot be kept") == true)
        let future = files(10).map { file in
            var file = file
            file.ended.milliseconds += 100 * Self.hour
            return file
        }
        #expect(self.plan(rules, future).deletions.isEmpty)
    }

    @Test func `A file that waits for its upload is kept, and the next oldest is deleted instead`() {
        let plan = plan(.init(maximumBytes: 8_000_000_000), files(10)) { $0.sequence != 1 }
        #expect(names(plan) == ["file-2", "file-3"])
        #expect(plan.heldFiles == 1)
        let all = self.plan(.init(maximumBytes: 8_000_000_000), files(10)) { _ in false }
        #expect(all.deletions.isEmpty && all.heldFiles == 9 && all.problem?.contains("still needed") == true)
    }

    @Test func `The file that is being recorded is never deleted`() {
        var open = files(1)
        open[0].ended.milliseconds -= Self.hour
        #expect(plan(.init(maximumAge: .seconds(1), minimumAge: .zero), open).deletions.isEmpty)
    }

    @Test func `To free space files are deleted one by one, and the other files that may be deleted are counted`() {
        let rules = RetentionRules(minimumFree: .percent(10))
        let plan = plan(rules, files(10), free: 97_500_000_000)
        #expect(names(plan) == ["file-1"], "more only when it is seen that it helps")
        #expect(plan.deletions.first?.rule == .free)
        #expect(plan.reclaimableBytes == 8_000_000_000)
        #expect(self.plan(rules, files(10), free: 100_000_000_000).deletions.isEmpty)
        // The guard's own reserve counts even if the rule asks for less.
        #expect(names(self.plan(.init(minimumFree: .bytes(1)), files(10), free: 4_999_999_999)) == ["file-1"])
    }

    @Test func `No file is deleted if other data fills the disk and deletions could not free enough space`() {
        // Recordings of 10 GB on a disk of 1 TB that other data fills: half of it cannot be made free.
        let half = plan(.init(minimumFree: .percent(50)), files(10), free: 97_500_000_000)
        #expect(half.deletions.isEmpty && half.problem?.contains("cannot be had by deleting") == true)
        // Here deletions can free the space that the recording needs to continue.
        let urgent = plan(.init(minimumFree: .percent(50)), files(10), free: 4_500_000_000)
        #expect(names(urgent) == ["file-1"])
        // Here deletions cannot free even that space.
        let vain = plan(.init(minimumFree: .percent(50)), files(4), free: 500_000_000)
        #expect(vain.deletions.isEmpty && vain.problem?.contains("cannot be had by deleting") == true)
    }

    @Test func `Before a recording starts, files that may be deleted before its end count as free space`() {
        let budget = StorageBudget(
            videoBitrate: 8_000_000, audioBitrate: 0, duration: .seconds(3 * 3600), reserve: ByteSize(bytes: 0))
        func deletable(
            _ rules: RetentionRules, _ count: Int = 10, mayDelete: (StoredSegment) -> Bool = { _ in true }
        ) -> Int64 {
            var policy = RetentionPolicy(rules: rules, leastFree: 5_000_000_000, memory: Self.memory)
            return policy.deletable(.init(segments: files(count), wallClock: Self.now, now: 0), during: budget) {
                mayDelete($0)
            }
        }
        let free = RetentionRules(minimumFree: .percent(10), minimumAge: .seconds(5 * 3600))
        // In three hours the files that are two hours old now are five hours old; the open one is never deleted.
        #expect(deletable(free) == 8_000_000_000)
        #expect(deletable(free) { $0.sequence > 3 } == 5_000_000_000, "what is still needed does not count")
        #expect(deletable(.init(maximumAge: .seconds(9 * 3600))) == 3_000_000_000)
        // Twice the recording's size is 22.032 GB. The limit of 40 GB leaves 9 GB for the recording.
        #expect(deletable(.init(maximumBytes: 40_000_000_000), 31) == 13_032_000_000)
        #expect(deletable(.init(maximumBytes: 90_000_000_000), 31) == 0)
        #expect(deletable(.init(maximumAge: .seconds(Int64.max))) == 0)
    }

    // Regression: a recording was admitted that reached its reserve before --keep-size deleted anything for it.
    @Test func `Files that --keep-size will delete during a recording do not count toward the disk reserve`() {
        let budget = StorageBudget(
            videoBitrate: 8_000_000, audioBitrate: 0, duration: .seconds(3 * 3600),
            reserve: ByteSize(bytes: 3_000_000_000))
        func deletable(limit: Int64) -> Int64 {
            var policy = RetentionPolicy(
                rules: .init(maximumBytes: limit), leastFree: 5_000_000_000, memory: Self.memory)
            let look = RetentionPolicy.Look(segments: files(31), wallClock: Self.now, now: 0)
            return policy.deletable(look, during: budget) { _ in true }
        }
        // The expected number is 31 GB plus 22.032 GB for the recording, minus the limit and the reserve.
        #expect(deletable(limit: 40_000_000_000) == 10_032_000_000)
        #expect(deletable(limit: .max) == 0)
    }

    @Test func `In one step retention deletes up to 64 small files for free space, or up to 100 by age`() {
        let small = files(300).map { file in
            var file = file
            file.bytes = 4 << 20
            return file
        }
        #expect(plan(.init(minimumFree: .percent(50)), small, free: 499_000_000_000).deletions.count == 64)
        #expect(plan(.init(maximumAge: .seconds(3600)), small).deletions.count == 100)
    }

    @Test func `Retention stops deleting files if this frees no space`() {
        var policy = RetentionPolicy(rules: .init(minimumFree: .percent(10)), leastFree: 0, memory: Self.memory)
        var left = files(60)
        let space = DiskSpace(free: 50_000_000_000, capacity: 1_000_000_000_000)
        var deleted = 0
        var problem: String?
        for second in Int64(0)..<600 {
            let now = MonotonicInstant.zero + .seconds(second)
            guard policy.wantsRoom(space, now: now) || second % 60 == 59 else { continue }
            let wall = UTCTime(milliseconds: Self.now.milliseconds + second * 1000)
            let plan = policy.plan(.init(segments: left, wallClock: wall, now: now, space: space)) { _ in true }
            problem = plan.problem
            deleted += plan.deletions.count
            left.removeFirst(plan.deletions.count)
            if !plan.deletions.isEmpty { policy.deleted(1_000_000_000, from: space, now: now) }
        }
        #expect(deleted == 3)
        #expect(problem?.contains("snapshots") == true)
        // When there is space again, for whatever reason, the attempts start from the beginning.
        let helped = policy.wantsRoom(
            DiskSpace(free: 200_000_000_000, capacity: 1_000_000_000_000), now: 600_000_000_000)
        #expect(!helped)
        let again = policy.wantsRoom(space, now: 601_000_000_000)
        #expect(again)
    }

    @Test func `After deletions freed no space, retention tries one deletion every ten minutes`() {
        var policy = RetentionPolicy(rules: .init(minimumFree: .percent(10)), leastFree: 0, memory: Self.memory)
        let space = DiskSpace(free: 50_000_000_000, capacity: 1_000_000_000_000)
        var attempts: [Int64] = []
        for second in Int64(0)..<1800 where policy.wantsRoom(space, now: .zero + .seconds(second)) {
            attempts.append(second)
            policy.deleted(1_000_000_000, from: space, now: .zero + .seconds(second))
        }
        #expect(attempts == [0, 60, 120, 780, 1440])
    }

    @Test func `Space that a deletion frees late is detected even while the recording uses it again`() {
        var policy = RetentionPolicy(rules: .init(minimumFree: .percent(10)), leastFree: 0, memory: Self.memory)
        var free: Int64 = 50_000_000_000
        var attempts = 0
        // The recording takes 300 MB per second, and deleted space becomes free half a minute later.
        var due: Int64?
        for second in Int64(0)..<400 {
            let now = MonotonicInstant.zero + .seconds(second)
            free -= 300_000_000
            if due == second { free += 1_000_000_000 }
            let space = DiskSpace(free: free, capacity: 1_000_000_000_000)
            guard policy.wantsRoom(space, now: now) else { continue }
            attempts += 1
            policy.deleted(1_000_000_000, from: space, now: now)
            due = second + 30
        }
        #expect(attempts == 14)
    }

    @Test func `If deletions free space, they continue until the required space is free`() {
        var policy = RetentionPolicy(
            rules: .init(minimumFree: .bytes(10_000_000_000)), leastFree: 0, memory: Self.memory)
        var left = files(50)
        var free: Int64 = 5_000_000_000
        for second in Int64(0)..<20 {
            let now = MonotonicInstant.zero + .seconds(second)
            let space = DiskSpace(free: free, capacity: 1_000_000_000_000)
            guard policy.wantsRoom(space, now: now) else { continue }
            let plan = policy.plan(.init(segments: left, wallClock: Self.now, now: 0, space: space)) { _ in true }
            left.removeFirst(plan.deletions.count)
            free += Int64(plan.deletions.count) * 1_000_000_000
            policy.deleted(Int64(plan.deletions.count) * 1_000_000_000, from: space, now: now)
        }
        #expect(free == 10_000_000_000)
    }

    @Test func `After the wall clock was set, only files that are certainly old are deleted`() {
        var policy = RetentionPolicy(rules: .init(maximumAge: .seconds(2 * 3600)), leastFree: 0, memory: Self.memory)
        func deletions(second: Int64, ahead: Int64) -> Int {
            let wall = UTCTime(milliseconds: Self.now.milliseconds + second * 1000 + ahead)
            return policy.plan(.init(segments: files(3), wallClock: wall, now: .zero + .seconds(second))) { _ in true }
                .deletions.count
        }
        #expect(deletions(second: 0, ahead: 0) == 0)
        #expect(deletions(second: 60, ahead: 1000 * Self.hour) == 1)
        #expect(deletions(second: 3600, ahead: 1000 * Self.hour) == 1)
        #expect(deletions(second: 3661, ahead: 1000 * Self.hour) == 2)
    }

    @Test func `While the wall clock is ahead, no file younger than --keep is deleted`() {
        var policy = RetentionPolicy(rules: .init(maximumAge: .seconds(30 * 86_400)), leastFree: 0, memory: Self.memory)
        let month = 31 * 24 * Self.hour
        func plan(hours: Int64, ahead: Int64) -> RetentionPolicy.Plan {
            let wall = UTCTime(milliseconds: Self.now.milliseconds + hours * Self.hour + ahead)
            return policy.plan(.init(segments: files(4), wallClock: wall, now: .zero + .seconds(hours * 3600))) { _ in
                true
            }
        }
        #expect(plan(hours: 0, ahead: 0).deletions.isEmpty)
        #expect(plan(hours: 1, ahead: month).deletions.isEmpty)
        let later = plan(hours: 3, ahead: month)
        #expect(later.deletions.isEmpty && later.problem?.contains("set forward") == true)
        #expect(plan(hours: 29 * 24, ahead: month).deletions.isEmpty)
        // The oldest file ended three hours before the first check, so it is now certainly older than 30 days.
        #expect(names(plan(hours: 30 * 24 - 2, ahead: month)) == ["file-1"])
        #expect(names(plan(hours: 30 * 24 + 1, ahead: month)).count == 3)
        #expect(names(plan(hours: 30 * 24 + 1, ahead: month)).count == 3)
    }

    @Test func `After a clock change of 90 s no further file is deleted, and huge limits do not overflow`() {
        var policy = RetentionPolicy(
            rules: .init(maximumAge: .seconds(2 * 3600), minimumAge: .zero), leastFree: 0, memory: Self.memory)
        func count(seconds: Int64, ahead: Int64) -> Int {
            let wall = UTCTime(milliseconds: Self.now.milliseconds + (seconds + ahead) * 1000)
            return policy.plan(.init(segments: files(4), wallClock: wall, now: .zero + .seconds(seconds))) { _ in true }
                .deletions.count
        }
        #expect(count(seconds: 0, ahead: 0) == 1)
        #expect(count(seconds: 0, ahead: 90) == 1)
        var forever = RetentionPolicy(
            rules: .init(maximumAge: .seconds(Int64.max), minimumAge: .zero), leastFree: 0, memory: Self.memory)
        for (now, ahead) in [(0, 0), (1, 1 << 50)] as [(MonotonicInstant, Int64)] {
            let wall = UTCTime(milliseconds: Self.now.milliseconds + ahead)
            let plan = forever.plan(.init(segments: files(4), wallClock: wall, now: now)) { _ in true }
            #expect(plan.deletions.isEmpty)
        }
    }

    @Test func `The required free space is given as a percentage of the disk or as a size`() throws {
        #expect(try FreeSpaceGoal(parsing: "10%") == .percent(10))
        #expect(try FreeSpaceGoal(parsing: "50GB") == .bytes(50_000_000_000))
        for wrong in ["", "%", "0%", "91%", "-5%", "ten", "10 percent"] {
            #expect(throws: TextFailure.self) { try FreeSpaceGoal(parsing: wrong) }
        }
        #expect(FreeSpaceGoal.percent(10).bytes(of: 1000) == 100)
    }
}
