// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Synchronization
import TestSupport
import Testing

@testable import Archive
@testable import Segmenter

private final class FakeDisk: FreeSpaceProbe, RecordingControl {
    let free: Mutex<Int64?>
    let calls = Mutex<[String]>([])
    /// Size of files that are deleted just before the next measurement.
    let vanishing = Mutex<Int64>(0)

    /// How many files may still be created; nil means any number.
    let files = Mutex<Int64?>(nil)

    init(free: Int64?) { self.free = Mutex(free) }

    func space(at path: String) throws(FileFailure) -> DiskSpace {
        let gone = vanishing.withLock { vanishing in
            defer { vanishing = 0 }
            return vanishing
        }
        free.withLock { $0 = $0.map { $0 + gone } }
        guard let free = free.withLock({ $0 }) else { throw FileFailure("measure free space of", path, text: "gone") }
        return DiskSpace(free: free, capacity: 1_000_000_000_000, freeFiles: files.withLock { $0 })
    }

    func set(_ bytes: Int64?) { free.withLock { $0 = bytes } }
    func suspend(_ reason: String) { calls.withLock { $0.append("suspend") } }
    func directoryChanged() { calls.withLock { $0.append("directory changed") } }
    func resume() { calls.withLock { $0.append("resume") } }
    var seen: [String] { calls.withLock { $0 } }
}

private final class Counter: Sendable {
    let value = Mutex<Int64>(0)
}

@Suite struct StorageTests {
    private let temporary: TemporaryDirectory

    init() throws { temporary = try TemporaryDirectory() }

    @Test func `A recording needs twice the bytes of its bitrates for its duration, plus 2 % for the container`() {
        let budget = StorageBudget(videoBitrate: 4_000_000, audioBitrate: 160_000, duration: .seconds(3600))
        #expect(budget.requiredBytes == 4_160_000 * 102 / 100 * 3600 * 2 / 8)
        func required(_ video: Int, _ audio: Int, _ duration: Duration) -> Int64 {
            StorageBudget(
                videoBitrate: video, audioBitrate: audio, duration: duration, reserve: ByteSize(bytes: 0)
            ).requiredBytes
        }
        #expect(required(1, 0, .nanoseconds(1)) == 1)
        #expect(required(0, 0, .seconds(9)) == 0)
        #expect(required(-5, 8, .seconds(-1)) == 0)
    }

    @Test func `A recording that would use the disk reserve before its end is not started`() {
        // 1 Mbit/s for an hour takes 459 MB, and 1 GiB stays free, so 1.2 GB last for 17 minutes.
        let budget = StorageBudget(videoBitrate: 1_000_000, audioBitrate: 0, duration: .seconds(3600))
        #expect(budget.requiredBytes == 459_000_000 + 1 << 30)
        var policy = StoragePolicy(directory: "d", budget: budget, warning: .seconds(1800))
        let refused = policy.admit(.free(1_200_000_000), now: 0)
        #expect(!refused.isAdmitted && refused.sentence.contains("332.7 MB short"), "\(refused.sentence)")
        #expect(refused.sentence.contains("1.0 GB that --disk-reserve keeps free"), "\(refused.sentence)")
        #expect(policy.admit(.free(459_000_001 + 1 << 30), now: 0).isAdmitted)
        // If the reserve is smaller than the recording, twice the recording is required.
        let long = StorageBudget(videoBitrate: 8_000_000, audioBitrate: 0, duration: .seconds(3600))
        #expect(long.requiredBytes == 2 * 3_672_000_000)
    }

    @Test func `The computation of the needed disk space does not overflow`() {
        let budget = StorageBudget(videoBitrate: .max, audioBitrate: .max, duration: .seconds(Int64.max))
        #expect(budget.requiredBytes == .max)
        #expect(budget.reserveBytes == .max)
        #expect(budget.resumeBytes == .max)
        let small = StorageBudget(
            videoBitrate: 8_000_000, audioBitrate: 0, duration: .zero, reserve: ByteSize(bytes: .max))
        #expect(small.resumeBytes == .max)
    }

    @Test func `A recording does not resume just because its own stop released disk space`() {
        let fast = StorageBudget(videoBitrate: 8_000_000, audioBitrate: 0, duration: .seconds(3600))
        #expect(fast.resumeBytes - fast.reserveBytes == fast.bytes(in: .seconds(5)))
        // A recording with a low bitrate reserves a mebibyte at a time, which is more than it writes in five seconds.
        let slow = StorageBudget(videoBitrate: 300_000, audioBitrate: 64_000, duration: .seconds(3600))
        #expect(slow.resumeBytes - slow.reserveBytes == 2 << 20)
    }

    @Test func `The disk reserve is one gibibyte or one minute of recording, whichever is more`() {
        #expect(StorageBudget(videoBitrate: 4_000_000, audioBitrate: 0, duration: .zero).reserveBytes == 1 << 30)
        let fast = StorageBudget(videoBitrate: 400_000_000, audioBitrate: 0, duration: .zero)
        #expect(fast.reserveBytes == 3_060_000_000)
    }

    @Test func `On a small disk the reserve and the free space that retention aims for are small`() {
        func budget(_ capacity: Int64, bitrate: Int = 4_000_000, reserve: ByteSize? = nil) -> StorageBudget {
            StorageBudget(
                videoBitrate: bitrate, audioBitrate: 0, duration: .zero, reserve: reserve, capacity: capacity)
        }
        // On cards of 1 and 2 GB the reserve is a tenth; from 10 GiB on it is 1 GiB.
        #expect(budget(1_000_000_000).reserveBytes == 100_000_000)
        #expect(budget(2_000_000_000).reserveBytes == 200_000_000)
        #expect(budget(64_000_000_000).reserveBytes == 1 << 30)
        #expect(budget(1_000_000_000, bitrate: 40_000_000).reserveBytes == 306_000_000, "a minute of recording")
        #expect(budget(1_000_000_000, reserve: ByteSize(bytes: 7)).reserveBytes == 7, "what was asked for stands")
        // A minute at 8 Mbit/s is more than this disk holds.
        let tiny = budget(42 << 20, bitrate: 8_000_000, reserve: ByteSize(bytes: 6_000_000))
        #expect(tiny.retentionGoalBytes == 6_000_000 + 5_100_000 + (42 << 20) / 10)
        #expect(budget(1_000_000_000).retentionGoalBytes == 100_000_000 + 65 * 510_000)
    }

    private func make(
        _ disk: FakeDisk, _ clock: ManualClock, reserve: Int64 = 100_000_000,
        written: @escaping @Sendable () -> Int64 = { 0 },
        retained: @escaping @Sendable () -> RetentionBalance = { RetentionBalance() },
        makeRoom: @escaping @Sendable (StorageBudget) -> Void = { _ in },
        room: @escaping @Sendable () -> Int64 = { 0 }, ledger: SpaceLedger = SpaceLedger(), owner: String = ""
    ) throws -> StorageGuard {
        let directory = try RecordDirectory.prepare(temporary.path)
        let budget = StorageBudget(
            videoBitrate: 8_000_000, audioBitrate: 0, duration: .seconds(100), reserve: ByteSize(bytes: reserve))
        return StorageGuard(
            directory: directory, budget: budget, warning: .seconds(60), control: disk, writtenBytes: written,
            retained: retained, makeRoom: makeRoom, room: room, ledger: ledger, owner: owner, probe: disk, clock: clock,
            logger: quiet)
    }

    // Regression: each of two channels found enough space for itself, and together they filled the disk.
    @Test func `Disk space that one recording needs is not given to another recording`() throws {
        let (disk, written, ledger) = (FakeDisk(free: 500_000_000), Counter(), SpaceLedger())
        let writtenOfOne: @Sendable () -> Int64 = { written.value.withLock { $0 } }
        let one = try make(disk, ManualClock(), written: writtenOfOne, ledger: ledger, owner: "one")
        let two = try make(disk, ManualClock(), ledger: ledger, owner: "two")
        #expect(one.admit().isAdmitted && two.admit().isAdmitted, "each needs 204 MB")
        #expect(one.admit().isAdmitted, "who was there first is asked again, and is behind the other now")
        disk.set(400_000_000)
        let third = try make(disk, ManualClock(), ledger: ledger, owner: "three")
        let refused = third.admit()
        #expect(!refused.isAdmitted && refused.requiredBytes == 3 * 204_000_000, "\(refused)")
        #expect(refused.sentence.contains("and 408.0 MB that other recordings on this disk still need"), "\(refused)")
        #expect(one.status.requiredBytes == 2 * 204_000_000)

        written.value.withLock { $0 = 90_000_000 }
        two.stop()
        #expect(third.admit().requiredBytes == 204_000_000 + 2 * 12_000_000, "what is written is needed no more")
        let successor = try make(disk, ManualClock(), ledger: ledger, owner: "one")
        #expect(successor.admit().requiredBytes == 2 * 204_000_000, "it takes the place of the first")
        // A guard's entry in the ledger exists only as long as the guard, so the guards are kept until here.
        withExtendedLifetime([one, two, third, successor]) {}
    }

    @Test func `A recording that was set up and never began leaves its disk space to others`() throws {
        let (disk, ledger) = (FakeDisk(free: 900_000_000), SpaceLedger())
        var dropped: StorageGuard? = try make(disk, ManualClock(), ledger: ledger, owner: "one")
        #expect(dropped?.admit().isAdmitted == true)
        let other = try make(disk, ManualClock(), ledger: ledger, owner: "two")
        #expect(other.admit().requiredBytes == 2 * 204_000_000)
        dropped = nil
        #expect(other.admit().requiredBytes == 204_000_000)
    }

    @Test func `After a restart a recording starts if enough files may be deleted for it`() throws {
        let (disk, asked) = (FakeDisk(free: 150_000_000), Counter())
        func make(deletable: Int64, freeing: Int64 = 0) throws -> StorageGuard {
            let makeRoom: @Sendable (StorageBudget) -> Void = { _ in
                asked.value.withLock { $0 += 1 }
                disk.free.withLock { $0 = $0.map { $0 + freeing } }
            }
            return try self.make(disk, ManualClock(), makeRoom: makeRoom, room: { deletable })
        }
        let admission = try make(deletable: 60_000_000).admit()
        #expect(admission.isAdmitted && admission.freeBytes == 150_000_000 && admission.deletableBytes == 60_000_000)
        #expect(try make(deletable: 0, freeing: 60_000_000).admit().isAdmitted, "what was deleted is free")
        #expect(asked.value.withLock { $0 } == 2)
        #expect(try make(deletable: 60_000_000).admit().isAdmitted)
        #expect(asked.value.withLock { $0 } == 2, "nothing is deleted where there is room")

        disk.set(150_000_000)
        let refused = try make(deletable: 40_000_000).admit()
        #expect(!refused.isAdmitted && refused.sentence.contains("14.0 MB short"), "\(refused.sentence)")
        #expect(refused.sentence.contains("old recordings of 40.0 MB that may be deleted"), "\(refused.sentence)")
        // The reserve must be free now: space that is deleted later does not let recording begin.
        disk.set(90_000_000)
        #expect(try !make(deletable: 900_000_000).admit().isAdmitted)
        #expect(try make(deletable: 900_000_000, freeing: 20_000_000).admit().isAdmitted)
    }

    // Regression: the file counted as deletable and as free space.
    @Test func `A file that is deleted while free space is measured counts only once`() throws {
        let (disk, left) = (FakeDisk(free: 130_000_000), Counter())
        func make(deletable: Int64, deletedMeanwhile: Int64) throws -> StorageGuard {
            let makeRoom: @Sendable (StorageBudget) -> Void = { _ in
                left.value.withLock { $0 = deletable - deletedMeanwhile }
                disk.vanishing.withLock { $0 = deletedMeanwhile }
            }
            return try self.make(disk, ManualClock(), makeRoom: makeRoom, room: { left.value.withLock { $0 } })
        }
        // 204 MB are required.
        let refused = try make(deletable: 60_000_000, deletedMeanwhile: 60_000_000).admit()
        #expect(!refused.isAdmitted && refused.freeBytes == 190_000_000 && refused.deletableBytes == 0)
        disk.set(130_000_000)
        let admitted = try make(deletable: 80_000_000, deletedMeanwhile: 60_000_000).admit()
        #expect(admitted.isAdmitted && admitted.freeBytes == 190_000_000 && admitted.deletableBytes == 20_000_000)
    }

    @Test
    func `A recording that was refused for lack of space begins as soon as old recordings may be deleted`() throws {
        let (disk, clock, deletable) = (FakeDisk(free: 150_000_000), ManualClock(), Counter())
        let watched = try make(disk, clock, room: { deletable.value.withLock { $0 } })
        #expect(!watched.admit().isAdmitted)
        deletable.value.withLock { $0 = 60_000_000 }
        clock.advance(by: .seconds(30))
        watched.check()
        #expect(watched.status.state == .ok && disk.seen == ["suspend", "resume"])
    }

    @Test func `A refusal states the needed and the free space, and the recording is tried again after 30 s`() throws {
        let (disk, clock) = (FakeDisk(free: 150_000_000), ManualClock())
        let watched = try make(disk, clock)
        let admission = watched.admit()
        #expect(!admission.isAdmitted)
        #expect(admission.requiredBytes == 204_000_000)
        #expect(admission.sentence.contains("204.0 MB"))
        #expect(admission.sentence.contains("150.0 MB free"))
        #expect(admission.sentence.contains("54.0 MB short"))
        #expect(watched.status.state == .refused)
        disk.set(300_000_000)
        clock.advance(by: .seconds(29))
        watched.check()
        #expect(watched.status.state == .refused)
        clock.advance(by: .seconds(1))
        watched.check()
        #expect(watched.status.state == .ok)
        #expect(disk.seen == ["suspend", "resume"])
    }

    @Test func `When a disk fills, recording warns, stops at the reserve, and resumes when there is a margin`() throws {
        let (disk, clock) = (FakeDisk(free: 400_000_000), ManualClock())
        let watched = try make(disk, clock)
        #expect(watched.admit().isAdmitted)
        var states: [StorageState] = []
        func step(_ free: Int64?) {
            disk.set(free)
            clock.advance(by: .seconds(1))
            watched.check()
            if states.last != watched.status.state { states.append(watched.status.state) }
        }
        for free in stride(from: Int64(400_000_000), through: 99_000_000, by: -2_000_000) { step(free) }
        #expect(states == [.ok, .warning, .critical, .stopped])
        #expect(disk.seen == ["suspend"])
        step(101_000_000)
        #expect(watched.status.state == .stopped, "a margin above the reserve is needed")
        step(131_000_000)
        #expect(disk.seen == ["suspend", "resume"])
        step(nil)
        #expect(watched.status.state == .stopped)
        #expect(watched.status.reason?.contains("gone") == true)
        step(900_000_000)
        #expect(disk.seen == ["suspend", "resume", "suspend", "resume"])
    }

    @Test func `The forecast of when the disk is full keeps the recorder's write rate across a stop`() throws {
        let (disk, clock, written) = (FakeDisk(free: 400_000_000), ManualClock(), Counter())
        let watched = try make(disk, clock, written: { written.value.withLock { $0 } })
        _ = watched.admit()
        func step(_ free: Int64, writing bytes: Int64) {
            disk.set(free)
            written.value.withLock { $0 += bytes }
            clock.advance(by: .seconds(1))
            watched.check()
        }
        // Writes a fragment every two seconds, at 2 MB/s, until the reserve is reached.
        for second in 0..<160 {
            step(400_000_000 - Int64(second) * 2_000_000, writing: second % 2 == 0 ? 0 : 4_000_000)
        }
        #expect(watched.status.state == .stopped)
        // For ten minutes nothing changes, then there is just enough space to continue.
        for _ in 0..<600 { step(99_000_000, writing: 0) }
        step(140_000_000, writing: 0)
        #expect(disk.seen == ["suspend", "resume"])
        #expect(watched.status.state == .critical, "20 s of room are not well")
        let left = try #require(watched.status.secondsUntilFull)
        #expect((15...25).contains(left), "40 MB at 2 MB/s: \(left)")
        step(140_000_000, writing: 0)
        #expect(watched.status.state == .critical)
    }

    @Test func `The storage state is critical from five minutes before the reserve is reached`() throws {
        func state(_ seconds: Int64, from steps: [Int64] = []) throws -> StorageState {
            var policy = StoragePolicy(
                directory: "d",
                budget: StorageBudget(
                    videoBitrate: 8_000_000, audioBitrate: 0, duration: .zero, reserve: ByteSize(bytes: 1_000_000)),
                warning: .seconds(1800))
            // All measurements are at the same time, so that free space has no slope and the planned rate is used.
            for seconds in steps + [seconds] {
                _ = policy.update(.free(1_000_000 + seconds * 1_020_000), written: 0, now: 1)
            }
            return policy.state
        }
        #expect(try state(1801) == .ok)
        #expect(try state(1799) == .warning)
        #expect(try state(301) == .warning)
        #expect(try state(299) == .critical)
        #expect(try state(329, from: [299]) == .critical)
        #expect(try state(331, from: [299]) == .warning)
        #expect(try state(1979, from: [299]) == .warning)
        #expect(try state(1981, from: [299]) == .ok)
    }

    @Test
    func `Deletable files count as free space, and other programs' writes are detected despite deletions`() throws {
        var policy = StoragePolicy(
            directory: "d",
            budget: StorageBudget(
                videoBitrate: 8_000_000, audioBitrate: 0, duration: .zero, reserve: ByteSize(bytes: 1_000_000)),
            warning: .seconds(1800))
        let reclaimable = RetentionBalance(deletedBytes: 0, reclaimableBytes: 4_000_000_000)
        _ = policy.update(.free(10_000_000), written: 0, retained: reclaimable, now: 1)
        #expect(policy.state == .ok)
        #expect(try #require(policy.secondsUntilFull) > 3900)
        // Others write 20 MB/s, and retention frees the same amount, so that free space does not change.
        for second in Int64(1)...200 {
            let balance = RetentionBalance(
                deletedBytes: second * 20_000_000, reclaimableBytes: 4_000_000_000 - second * 20_000_000)
            _ = policy.update(.free(10_000_000), written: 0, retained: balance, now: 1 + .seconds(second))
        }
        #expect(policy.state == .critical)
        #expect((0...2).contains(try #require(policy.secondsUntilFull)))
    }

    @Test func `If the directory on a full disk vanishes, recording resumes only when the directory is back`() throws {
        let (disk, clock) = (FakeDisk(free: 150_000_000), ManualClock())
        let path = temporary.path("recordings")
        let watched = StorageGuard(
            directory: try RecordDirectory.prepare(path),
            budget: StorageBudget(
                videoBitrate: 8_000_000, audioBitrate: 0, duration: .seconds(1), reserve: ByteSize(bytes: 100_000_000)),
            control: disk, writtenBytes: { 0 }, probe: disk, clock: clock, logger: quiet)
        #expect(watched.admit().isAdmitted)
        disk.set(50_000_000)
        watched.check()
        #expect(watched.status.state == .stopped)
        try FileManager.default.removeItem(atPath: path)
        disk.set(900_000_000)
        watched.check()
        #expect(watched.status.state == .stopped)
        #expect(watched.status.reason?.contains("No such file") == true)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        watched.check()
        #expect(watched.status.state == .warning)
        #expect(disk.seen == ["suspend", "directory changed", "resume"])
    }

    @Test func `If a disk has no inodes left recording stops, and continues when files can be created again`() throws {
        let (disk, clock) = (FakeDisk(free: 900_000_000_000), ManualClock())
        let watched = try make(disk, clock)
        disk.files.withLock { $0 = 3 }
        let refused = watched.admit()
        #expect(!refused.isAdmitted && refused.sentence.contains("only 3 more files (inodes)"), "\(refused)")
        disk.files.withLock { $0 = 1000 }
        #expect(watched.admit().isAdmitted)
        disk.files.withLock { $0 = 0 }
        watched.check()
        #expect(watched.status.state == .stopped)
        #expect(watched.status.reason?.contains("only 0 more files (inodes)") == true)
        disk.files.withLock { $0 = 1000 }
        watched.check()
        #expect(disk.seen == ["suspend", "suspend", "resume"])
    }

    @Test func `The forecast of when the disk is full includes other programs' writes`() throws {
        let (disk, clock) = (FakeDisk(free: 10_000_000_000), ManualClock())
        let watched = try make(disk, clock)
        _ = watched.admit()
        for second in 0..<200 {
            disk.set(10_000_000_000 - Int64(second) * 20_000_000)
            clock.advance(by: .seconds(1))
            watched.check()
        }
        let left = try #require(watched.status.secondsUntilFull)
        #expect((290...300).contains(left), "5.92 GB at 20 MB/s: \(left)")
        clock.advance(by: .seconds(7))
        #expect(watched.status.ageSeconds == 7)
    }

    @Test func `The record directory is created with its parents, and must be writable`() throws {
        let directory = try RecordDirectory.prepare(temporary.path("a/b/c/"))
        #expect(directory.path == temporary.path("a/b/c"))
        #expect(try directory.entries().filter { !$0.hasPrefix(".") }.isEmpty)
        #expect(throws: FileFailure.self) { try RecordDirectory.prepare("/proc/nothing/here") }
        #expect(throws: FileFailure.self) { try RecordDirectory.prepare("/etc/passwd") }
        #expect(try SystemFreeSpace().space(at: temporary.path).free > 0)
    }

    @Test func `A record directory gets exactly one mark file, by which it is recognized`() throws {
        let first = try RecordDirectory.prepare(temporary.path)
        let mark = try #require(first.mark)
        #expect(try RecordDirectory.prepare(temporary.path).mark == mark)
        #expect(temporary.all == [mark])
    }
}
