// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization
import Testing

@testable import Segmenter

private final class FakeDisk: FreeSpaceProbe, RecordingControl {
    let free: Mutex<Int64?>
    let calls = Mutex<[String]>([])

    init(free: Int64?) { self.free = Mutex(free) }

    func freeBytes(at path: String) throws(FileFailure) -> Int64 {
        guard let free = free.withLock({ $0 }) else { throw FileFailure("measure free space of", path, text: "gone") }
        return free
    }

    func set(_ bytes: Int64?) { free.withLock { $0 = bytes } }
    func suspend(_ reason: String) { calls.withLock { $0.append("suspend") } }
    func resume() { calls.withLock { $0.append("resume") } }
    var seen: [String] { calls.withLock { $0 } }
}

private final class Counter: Sendable {
    let value = Mutex<Int64>(0)
}

@Suite struct StorageTests {
    @Test func `The budget is bitrate and 2 % times duration times two, in bytes`() {
        let budget = StorageBudget(videoBitrate: 4_000_000, audioBitrate: 160_000, duration: .seconds(3600))
        #expect(budget.requiredBytes == 4_160_000 * 102 / 100 * 3600 * 2 / 8)
        #expect(StorageBudget(videoBitrate: 1, audioBitrate: 0, duration: .nanoseconds(1)).requiredBytes == 1)
        #expect(StorageBudget(videoBitrate: 0, audioBitrate: 0, duration: .seconds(9)).requiredBytes == 0)
        #expect(StorageBudget(videoBitrate: -5, audioBitrate: 8, duration: .seconds(-1)).requiredBytes == 0)
    }

    @Test func `The budget does not overflow`() {
        let budget = StorageBudget(videoBitrate: .max, audioBitrate: .max, duration: .seconds(Int64.max))
        #expect(budget.requiredBytes == .max)
        #expect(budget.reserveBytes == .max)
        #expect(budget.resumeBytes == .max)
        let small = StorageBudget(
            videoBitrate: 8_000_000, audioBitrate: 0, duration: .zero, reserve: ByteSize(bytes: .max))
        #expect(small.resumeBytes == .max)
    }

    @Test func `The reserve is a gibibyte or a minute, whichever is more`() {
        #expect(StorageBudget(videoBitrate: 4_000_000, audioBitrate: 0, duration: .zero).reserveBytes == 1 << 30)
        let fast = StorageBudget(videoBitrate: 400_000_000, audioBitrate: 0, duration: .zero)
        #expect(fast.reserveBytes == 3_060_000_000)
    }

    private func make(
        _ disk: FakeDisk, _ clock: ManualClock, reserve: Int64 = 100_000_000,
        written: @escaping @Sendable () -> Int64 = { 0 }
    ) throws -> StorageGuard {
        let directory = try RecordDirectory.prepare(try TemporaryDirectory().path)
        let budget = StorageBudget(
            videoBitrate: 8_000_000, audioBitrate: 0, duration: .seconds(100), reserve: ByteSize(bytes: reserve))
        return StorageGuard(
            directory: directory, budget: budget, warning: .seconds(60), control: disk, writtenBytes: written,
            probe: disk, clock: clock, logger: quiet)
    }

    @Test func `Too little space is refused with the numbers and tried again every 30 s`() throws {
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

    @Test func `A disk that fills warns, stops before the reserve is touched, and resumes with a margin`() throws {
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
        #expect(states == [.ok, .warning, .stopped])
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

    @Test func `A stop does not make the forecast forget how fast the recorder writes`() throws {
        let (disk, clock, written) = (FakeDisk(free: 400_000_000), ManualClock(), Counter())
        let watched = try make(disk, clock, written: { written.value.withLock { $0 } })
        _ = watched.admit()
        func step(_ free: Int64, writing bytes: Int64) {
            disk.set(free)
            written.value.withLock { $0 += bytes }
            clock.advance(by: .seconds(1))
            watched.check()
        }
        // A fragment each two seconds, 2 MB/s, until the reserve is reached.
        for second in 0..<160 {
            step(400_000_000 - Int64(second) * 2_000_000, writing: second % 2 == 0 ? 0 : 4_000_000)
        }
        #expect(watched.status.state == .stopped)
        // Ten minutes of nothing, then just enough space to go on.
        for _ in 0..<600 { step(99_000_000, writing: 0) }
        step(140_000_000, writing: 0)
        #expect(disk.seen == ["suspend", "resume"])
        #expect(watched.status.state == .warning, "20 s of room are not well")
        let left = try #require(watched.status.secondsUntilFull)
        #expect((15...25).contains(left), "40 MB at 2 MB/s: \(left)")
        step(140_000_000, writing: 0)
        #expect(watched.status.state == .warning)
    }

    @Test func `The forecast follows other writers too`() throws {
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

    @Test func `The directory is created with its parents and proved writable`() throws {
        let temporary = try TemporaryDirectory()
        let directory = try RecordDirectory.prepare(temporary.path("a/b/c/"))
        #expect(directory.path == temporary.path("a/b/c"))
        #expect(try directory.entries().filter { !$0.hasPrefix(".") }.isEmpty)
        #expect(throws: FileFailure.self) { try RecordDirectory.prepare("/proc/nothing/here") }
        #expect(throws: FileFailure.self) { try RecordDirectory.prepare("/etc/passwd") }
        #expect(try SystemFreeSpace().freeBytes(at: temporary.path) > 0)
    }
}
