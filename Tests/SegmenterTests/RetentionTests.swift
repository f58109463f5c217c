// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import Archive
@testable import Segmenter

/// A disk whose free space is set by the test.
private final class GivenSpace: FreeSpaceProbe {
    let free: Mutex<Int64>
    init(free: Int64) { self.free = Mutex(free) }
    func space(at path: String) throws(FileFailure) -> DiskSpace {
        DiskSpace(free: free.withLock { $0 }, capacity: 1_000_000)
    }
}

/// Vetoes the deletion of the files in `waiting`, and records deletions.
private final class Upload: RetentionVeto, RecordingObserver {
    let waiting = Mutex<Set<String>>([])
    let deleted = Mutex<[String]>([])
    func mayDelete(_ fileName: String) -> Bool { !waiting.withLock { $0.contains(fileName) } }
    func segmentFinished(_ record: SegmentRecord) {}
    func segmentRecovered(fileName: String) {}
    func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime) {}
    func segmentDeleted(fileName: String) { deleted.withLock { $0.append(fileName) } }
}

/// Blocks on the first deleted file until it is released.
private final class SlowDisk: RecordingObserver {
    let (isReleased, isDeleted) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    private let isFirst = Mutex(true)
    func segmentFinished(_ record: SegmentRecord) {}
    func segmentRecovered(fileName: String) {}
    func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime) {}
    func segmentDeleted(fileName: String) {
        let waits = isFirst.withLock { isFirst in
            defer { isFirst = false }
            return isFirst
        }
        if waits { isReleased.wait() }
        isDeleted.signal()
    }
}

/// Records the remaining room at each report of a deletion.
private final class RoomSpy: RecordingObserver {
    let retention = Mutex<Retention?>(nil)
    let rooms = Mutex<[Int64]>([])
    func segmentFinished(_ record: SegmentRecord) {}
    func segmentRecovered(fileName: String) {}
    func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime) {}
    func segmentDeleted(fileName: String) {
        let room = retention.withLock { $0?.room } ?? -1
        rooms.withLock { $0.append(room) }
    }
}

/// Writes each file again when retention asks whether the file may be deleted.
private final class Replacement: RetentionVeto {
    private let directory: String
    init(in directory: String) { self.directory = directory }
    func mayDelete(_ fileName: String) -> Bool { utimensat(AT_FDCWD, "\(directory)/\(fileName)", nil, 0) == 0 }
}

/// Vetoes all deletions after the first one.
private final class OneDeletion: RetentionVeto {
    private let upload: Upload
    init(_ upload: Upload) { self.upload = upload }
    func mayDelete(_ fileName: String) -> Bool { upload.deleted.withLock { $0.isEmpty } }
}

/// Mounts another disk in place of the directory when retention asks about a file for the first time, or asks about a
/// file again, because it is about to delete it.
private final class Exchange: RetentionVeto {
    private let path: String
    private let isBeforeDeletion: Bool
    private let asked = Mutex<Set<String>>([])
    private let isSuccessful = Mutex<Bool?>(nil)
    init(at path: String, beforeDeletion isBeforeDeletion: Bool) {
        (self.path, self.isBeforeDeletion) = (path, isBeforeDeletion)
    }

    var hasSucceeded: Bool { isSuccessful.withLock { $0 == true } }

    func mayDelete(_ fileName: String) -> Bool {
        let isNew = asked.withLock { $0.insert(fileName).inserted }
        isSuccessful.withLock { isSuccessful in
            guard isSuccessful == nil, isNew != isBeforeDeletion else { return }
            isSuccessful = rename(path, "\(path).first") == 0 && rename("\(path).second", path) == 0
        }
        return true
    }
}

@Suite struct RetentionTests {
    private static let rate = FrameRate(25)
    private static let now = UTCTime.now
    private let temporary: TemporaryDirectory
    private let clock = ManualClock()
    private let disk = GivenSpace(free: 1_000_000)
    private let upload = Upload()

    /// Five recorded files, each an hour older than the next; the newest ended an hour ago.
    init() throws {
        temporary = try TemporaryDirectory()
        let recording = try Recording(
            description(rate: Self.rate), length: .duration(.seconds(1)), directory: temporary)
        recording.feed(syntheticProgram(rate: Self.rate, frames: 125, isKeyframe: { $0 % 25 == 0 }))
        recording.finish()
        for (index, path) in recording.finished.enumerated() { try age(path, hours: 5 - index) }
        // An earlier run read the clock just now.
        try seeClock(in: .prepare(temporary.path))
    }

    /// Writes to `directory` the memory of a run that ended just now.
    private func seeClock(in directory: RecordDirectory) throws {
        try RememberedClock(lastSeen: Self.now, isConfirmed: true).write(of: "test", in: directory)
    }

    private func age(_ path: String, hours: Int) throws {
        // The files are dated by the tests' fixed time: on a machine that took minutes to get here, files dated by the
        // real clock were too young.
        let now = Date(timeIntervalSince1970: Double(Self.now.milliseconds) / 1000)
        let date = now.addingTimeInterval(-3600 * Double(hours) - 60)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
    }

    private var files: [String] { temporary.files.filter { $0.hasSuffix(".mp4") } }

    private func make(
        _ rules: RetentionRules, vetoes: [any RetentionVeto] = [], logger: CollectedLog = CollectedLog(from: .info)
    ) throws -> Retention {
        Retention(
            directory: try .prepare(temporary.path), channel: "test", rules: rules, leastFree: 0,
            vetoes: [upload] + vetoes,
            observers: [upload], probe: disk, clock: clock,
            wallClock: { [clock] in UTCTime(milliseconds: Self.now.milliseconds + clock.now.nanoseconds / 1_000_000) },
            logger: logger.logger)
    }

    // A check reads the attributes of only some files again, so a deletion can be planned with outdated attributes.
    @Test func `A file that was replaced since its age was read is not deleted`() throws {
        let all = files
        let retention = try make(.init(maximumAge: .seconds(3 * 3600)), vetoes: [Replacement(in: temporary.path)])
        retention.check()
        #expect(files == all && retention.status.deletedFiles == 0)
    }

    // A check that deletes many files can take minutes.
    @Test func `A veto that begins while files are being deleted counts for the next file`() throws {
        let all = files
        let retention = try make(.init(maximumAge: .seconds(3 * 3600)), vetoes: [OneDeletion(upload)])
        retention.check()
        #expect(files == Array(all[1...]))
        #expect(retention.status.deletedFiles == 1 && retention.status.heldFiles == 2)
    }

    // The answers of the vetoes are for the disk that was mounted before, so they do not count.
    @Test(arguments: [false, true])
    func `A disk that is mounted while retention decides loses no file, even if its files have the same names`(
        isBeforeDeletion: Bool
    ) throws {
        let (all, manager) = (files, FileManager.default)
        let exchange = Exchange(at: temporary.path, beforeDeletion: isBeforeDeletion)
        let retention = try make(.init(maximumAge: .seconds(3 * 3600)), vetoes: [exchange])
        try manager.copyItem(atPath: temporary.path, toPath: "\(temporary.path).second")
        defer { for name in ["first", "second"] { try? manager.removeItem(atPath: "\(temporary.path).\(name)") } }
        for (index, name) in all.enumerated() { try age("\(temporary.path).second/\(name)", hours: 5 - index) }
        for name in temporary.all where name.hasPrefix(".relay-archive-") {
            try manager.removeItem(atPath: "\(temporary.path).second/\(name)")
        }
        retention.check()
        #expect(exchange.hasSucceeded && files == all && retention.status.deletedFiles == 0)
    }

    @Test func `Retention deletes, reports and counts old files`() throws {
        let (log, all) = (CollectedLog(from: .info), files)
        #expect(all.count == 5)
        upload.waiting.withLock { $0 = [all[0]] }
        let retention = try make(.init(maximumAge: .seconds(3 * 3600)), logger: log)
        retention.check()
        #expect(files == [all[0]] + all[3...])
        #expect(upload.deleted.withLock { $0 } == [all[1], all[2]])
        #expect(log.lines(containing: "segment deleted: older than 3h").count == 2)
        let status = retention.status
        #expect(status.files == 3 && status.deletedFiles == 2 && status.heldFiles == 1)
        #expect(status.deletedBytes == retention.balance.deletedBytes && status.deletedBytes > 1000)
        // The upload is done, so the next check deletes the file.
        upload.waiting.withLock { $0 = [] }
        retention.check()
        #expect(files.count == 3)
        clock.advance(by: .seconds(60))
        retention.check()
        #expect(files.count == 2)
    }

    @Test func `Only finished files that relay recorded for this channel are deleted`() throws {
        let model = files[0]
        let others = [
            model.replacingOccurrences(of: "test_", with: "other_"), model + ".part",
            model.replacingOccurrences(of: ".mp4", with: ".broken"), "notes.mp4", "test_1.mp4",
        ]
        for name in others {
            try FileManager.default.copyItem(atPath: temporary.path(model), toPath: temporary.path(name))
            try age(temporary.path(name), hours: 100)
        }
        let foreign = model.replacingOccurrences(of: "_000001", with: "_900001")
        let text = Data("something else entirely, of some length".utf8)
        try text.write(to: URL(fileURLWithPath: temporary.path(foreign)))
        try age(temporary.path(foreign), hours: 100)
        let link = model.replacingOccurrences(of: "_000001", with: "_900002")
        try FileManager.default.createSymbolicLink(
            atPath: temporary.path(link), withDestinationPath: temporary.path("notes.mp4"))
        let log = CollectedLog(from: .info)
        let retention = try make(.init(maximumAge: .seconds(1), minimumAge: .zero), logger: log)
        retention.check()
        clock.advance(by: .seconds(30))
        retention.segmentRecovered(fileName: "")
        retention.check()
        #expect(Set(temporary.files) == Set(others + [foreign, link]))
        #expect(log.lines(containing: "this program did not make it").count == 1, "\(log.lines)")
    }

    @Test func `A recording of another channel is kept, whatever its name is`() throws {
        let stranger = try TemporaryDirectory()
        let template = try NameTemplate(parsing: "{date}_{time}_{sequence}")
        let target = try RecordDirectory.prepare(stranger.path, template: template)
        for (channel, start) in [("test", Int64(0)), ("other", 10)] {
            let configuration = RecorderConfiguration(
                directory: target, channel: channel, length: .duration(.seconds(1)),
                programStart: UTCTime(milliseconds: 1_795_269_790_000 + start * 1000))
            let recorder = Recorder(
                configuration: configuration, description: description(rate: Self.rate), keyframes: KeyframeSpy(),
                logger: quiet)
            Recording(directory: stranger, recorder: recorder)
                .record(syntheticProgram(rate: Self.rate, frames: 50, isKeyframe: { $0 % 25 == 0 }))
        }
        #expect(stranger.files.count == 4)
        for name in stranger.files { try age(stranger.path(name), hours: 2) }
        try seeClock(in: target)
        let log = CollectedLog(from: .info)
        let retention = Retention(
            directory: target, channel: "test", rules: RetentionRules(maximumAge: .seconds(3600)), leastFree: 0,
            logger: log.logger)
        retention.check()
        #expect(stranger.files.map { String($0.suffix(10)) } == ["000003.mp4", "000004.mp4"])
        // These files are not counted either.
        #expect(retention.status.files == 0 && log.lines(containing: "not deleted").isEmpty, "\(log.lines)")
    }

    @Test func `Files are deleted until enough space should be free, and no more until the effect is known`() throws {
        let retention = try make(.init(minimumFree: .percent(20)))
        retention.check()
        #expect(files.count == 5)
        #expect(retention.balance.reclaimableBytes == retention.status.bytes)
        let attributes = try FileManager.default.attributesOfItem(atPath: temporary.path(files[0]))
        let first = try #require(attributes[.size] as? Int)
        disk.free.withLock { $0 = Int64(200_000 - first - 1) }
        retention.check()
        #expect(files.count == 3)
        // Until the effect of the deletions is measured, no more files are deleted.
        retention.check()
        #expect(files.count == 3)
    }

    @Test
    func `Before a recording is refused, old files are deleted, and further deletable files count as space`() throws {
        let retention = try make(.init(maximumAge: .seconds(4 * 3600), minimumFree: .percent(20)))
        let budget = StorageBudget(videoBitrate: 8, audioBitrate: 0, duration: .seconds(60))
        let sizes = try files.map { name in
            try #require(FileManager.default.attributesOfItem(atPath: temporary.path(name))[.size] as? Int)
        }
        disk.free.withLock { $0 = 200_000 - Int64(sizes[2]) }
        retention.makeRoom(for: budget)
        let left = retention.room
        // Two files are deleted because they are older than four hours, and one to free space. No more are deleted
        // before the free space is measured again.
        #expect(files.count == 2)
        #expect(left == sizes[3...].reduce(0) { $0 + Int64($1) })
        #expect(retention.status.deletedFiles == 3)
    }

    // Regression: going on air waited until the last file was deleted, however slow the disk was.
    @Test
    func `A recording's start does not wait for a slow disk, and files whose deletion is pending count as space`()
        throws
    {
        let slow = SlowDisk()
        let retention = Retention(
            directory: try .prepare(temporary.path), channel: "test",
            rules: .init(maximumAge: .seconds(150 * 60), minimumFree: .percent(20)), leastFree: 0, observers: [slow],
            probe: disk, clock: clock, startLimit: .zero, logger: quiet)
        let (before, budget) = (files, StorageBudget(videoBitrate: 8, audioBitrate: 0, duration: .seconds(60)))
        let sizes = try before.map { name in
            try #require(FileManager.default.attributesOfItem(atPath: temporary.path(name))[.size] as? Int64)
        }
        let answer = Mutex<Int64?>(nil)
        let answered = DispatchSemaphore(value: 0)
        DispatchQueue(label: "starts").async {
            retention.makeRoom(for: budget)
            let room = retention.room
            answer.withLock { $0 = room }
            answered.signal()
        }
        #expect(answered.wait(timeout: .now() + .seconds(30)) == .success, "it waits for a file to be deleted")
        let room = try #require(answer.withLock { $0 })
        // The first file may be deleted by now, and then counts as free space.
        #expect(room >= sizes[1...].reduce(0, +) && room <= sizes.reduce(0, +))
        slow.isReleased.signal()
        for _ in 0..<3 { #expect(slow.isDeleted.wait(timeout: .now() + .seconds(30)) == .success) }
        #expect(files == Array(before[3...]))
    }

    // Regression: for a moment a file counted as free space and as deletable, too.
    @Test func `The space of a deleted file counts as free and no longer as deletable`() throws {
        let spy = RoomSpy()
        let retention = Retention(
            directory: try .prepare(temporary.path), channel: "test",
            rules: .init(maximumAge: .seconds(150 * 60), minimumFree: .percent(20)), leastFree: 0, observers: [spy],
            probe: disk, clock: clock, logger: quiet)
        spy.retention.withLock { $0 = retention }
        defer { spy.retention.withLock { $0 = nil } }
        let sizes = try files.map { name in
            try #require(FileManager.default.attributesOfItem(atPath: temporary.path(name))[.size] as? Int64)
        }
        retention.makeRoom(for: StorageBudget(videoBitrate: 8, audioBitrate: 0, duration: .seconds(60)))
        // The last file may not be deletable yet.
        let last = retention.room
        let expected = [last + sizes[1] + sizes[2], last + sizes[2], last]
        #expect(spy.rooms.withLock { $0 } == expected)
    }

    @Test func `A free-space limit that cannot be met does not delay deletions that the recording needs`() throws {
        let retention = Retention(
            directory: try .prepare(temporary.path), channel: "test", rules: .init(minimumFree: .percent(50)),
            leastFree: 10_000, probe: disk, clock: clock, logger: quiet)
        disk.free.withLock { $0 = 100_000 }
        retention.check()
        #expect(files.count == 5, "half of the disk cannot be had by deleting")
        disk.free.withLock { $0 = 9999 }
        retention.check()
        #expect(files.count == 4)
    }

    // Regression: if a file that cannot be deleted was as large as one step of deletions, each sweep tried to delete
    // only that file.
    @Test func `If a large file cannot be deleted, the next oldest file is deleted`() throws {
        let all = files
        try Data("something else entirely".utf8).write(to: URL(fileURLWithPath: temporary.path(all[0])))
        try #require(truncate(temporary.path(all[0]), 300 << 20) == 0)
        try age(temporary.path(all[0]), hours: 6)
        let log = CollectedLog(from: .info)
        let retention = try make(.init(minimumFree: .percent(20)), logger: log)
        disk.free.withLock { $0 = 199_999 }
        retention.check()
        #expect(files == all)
        clock.advance(by: .seconds(1))
        retention.check()
        #expect(files == [all[0]] + all[2...])
        #expect(retention.status.heldFiles == 0 && retention.balance.reclaimableBytes < 300 << 20)
        #expect(log.lines(containing: "this program did not make it").count == 1, "\(log.lines)")
    }

    @Test func `A missing record directory is reported once, and its files are deleted when it is back`() throws {
        let log = CollectedLog(from: .info)
        let retention = try make(.init(maximumAge: .seconds(3600), minimumAge: .zero), logger: log)
        let away = temporary.path + "-away"
        try FileManager.default.moveItem(atPath: temporary.path, toPath: away)
        retention.check()
        retention.check()
        #expect(log.lines.count == 1 && log.lines.first?.contains("No such file") == true, "\(log.lines)")
        try FileManager.default.moveItem(atPath: away, toPath: temporary.path)
        retention.check()
        #expect(files.isEmpty)
    }

    @Test func `Files without a sequence number are ordered by the time at which they ended`() throws {
        let directory = try TemporaryDirectory()
        let template = try NameTemplate(parsing: "%d-%m-%Y_{channel}_{time}")
        let names = ["30-11-2026_test_23-30-00.mp4", "01-12-2026_test_00-00-00.mp4", "01-12-2026_test_00-30-00.mp4"]
        for (index, name) in names.enumerated() {
            try Data().write(to: URL(fileURLWithPath: directory.path(name)))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: Double(index - 3) * 1800)],
                ofItemAtPath: directory.path(name))
        }
        let target = try RecordDirectory.prepare(directory.path, template: template)
        #expect(try target.segments(of: "test").map(\.fileName) == names)
    }

    // Regression: times and sizes from a damaged file system, or from another program, ended the process at each start.
    @Test func `A file with an absurd date or size is handled like any other`() throws {
        for seconds in [Int.min, -1, 0, Int.max] {
            let time = RecordDirectory.time(timespec(tv_sec: seconds, tv_nsec: 999_999_999))
            #expect("\(time)".count >= 10)
        }
        #expect(RecordDirectory.time(timespec(tv_sec: 5, tv_nsec: 6_000_000)).milliseconds == 5006)
        // Many file systems have limits of their own, especially for the size.
        let path = temporary.path(files[0])
        for size in [1 << 62, 1 << 52, 1 << 43] where truncate(path, size) == 0 { break }
        let times = [timespec(tv_sec: .max, tv_nsec: 0), timespec(tv_sec: .max, tv_nsec: 0)]
        _ = utimensat(AT_FDCWD, path, times, 0)
        let segment = try #require(RecordDirectory.prepare(temporary.path).segments(of: "test").first)
        #expect(segment.bytes >= 1 << 43 && segment.bytes <= RecordDirectory.largest)
        let retention = try make(.init(maximumBytes: 1 << 60, minimumFree: .percent(100)))
        retention.check()
    }

    /// Records two files of `channel` with names from `template`.
    private func record(_ channel: String, as template: String, start: Int64) throws {
        let template = try NameTemplate(parsing: template)
        let configuration = RecorderConfiguration(
            directory: try .prepare(temporary.path, template: template), channel: channel,
            length: .duration(.seconds(1)),
            programStart: UTCTime(milliseconds: 1_795_269_790_000 + start * 1000))
        let recorder = Recorder(
            configuration: configuration, description: description(rate: Self.rate), keyframes: KeyframeSpy(),
            logger: quiet)
        Recording(directory: temporary, recorder: recorder)
            .record(syntheticProgram(rate: Self.rate, frames: 50, isKeyframe: { $0 % 25 == 0 }))
    }

    @Test func `Repaired copies and files named by an earlier --record-name count as recordings`() throws {
        try record("test", as: "%Y/%m/{channel}_{time}_{sequence}", start: 0)
        try record("test", as: "%Y-%m-%d/{channel}_{start}_{sequence}", start: 20)
        try record("other", as: "%Y/%m/{channel}_{time}_{sequence}", start: 40)
        let model = files[0]
        func copy(to name: String) throws {
            let directory = temporary.path(name.split(separator: "/").dropLast().joined(separator: "/"))
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: temporary.path(model), toPath: temporary.path(name))
        }
        try copy(to: SegmentSalvage.repairedName(model))
        // Files that an operator set aside, renamed, or recorded elsewhere are not touched.
        let kept = ["2024/\(model)", "2025/interview.mp4", "interview.mp4", "keep/\(model)"]
        for name in kept { try copy(to: name) }
        _ = try RecordDirectory.prepare(temporary.path("2024"))
        let target = try RecordDirectory.prepare(temporary.path)
        for name in try [kept[0]] + target.recordings().map(\.name) { try age(temporary.path(name), hours: 6) }
        // A link to a directory elsewhere with recordings of this channel is not followed.
        let elsewhere = try TemporaryDirectory()
        try FileManager.default.copyItem(atPath: temporary.path(model), toPath: elsewhere.path(model))
        try FileManager.default.createSymbolicLink(
            atPath: temporary.path("2023"), withDestinationPath: elsewhere.path)
        let retention = try make(.init(maximumAge: .seconds(1), minimumAge: .zero))
        retention.check()
        // The deleted files are five with the present name, one repaired copy, and two with each earlier name.
        #expect(retention.status.deletedFiles == 10)
        let left = try target.recordings().map(\.name)
        // The first file is in another record directory, and does not belong to this one.
        #expect(left.filter { !$0.contains("other_") } == Array(kept.dropFirst()), "\(left)")
        #expect(FileManager.default.fileExists(atPath: temporary.path(kept[0])))
        #expect(left.count == kept.count + 1 && elsewhere.files.count == 1)
    }

    // A clip contains the tags of its channel, too, and its usual name could come from an earlier template.
    @Test func `An exported clip that was moved into the record directory is not deleted`() throws {
        let clip = temporary.path("test_2026-11-21.mp4")
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: temporary.path(files[0]))))
        // A clip has its `moov` only at the end.
        try #require(Array(bytes[52..<56]) == Array("moov".utf8))
        bytes.replaceSubrange(52..<56, with: Array("free".utf8))
        try Data(bytes).write(to: URL(fileURLWithPath: clip))
        try age(clip, hours: 100)
        #expect(try FileDescriptor.open(readOnly: clip).channel == "test")
        let retention = try make(.init(maximumAge: .seconds(1), minimumAge: .zero))
        retention.check()
        #expect(retention.status.deletedFiles == 5)
        #expect(temporary.files == ["test_2026-11-21.mp4"])
    }

    @Test func `If a symbolic link replaces a directory, neither recording nor deletion follows it`() throws {
        let elsewhere = try TemporaryDirectory()
        let name = files[0]
        try FileManager.default.copyItem(atPath: temporary.path(name), toPath: elsewhere.path(name))
        try FileManager.default.createSymbolicLink(atPath: temporary.path("day"), withDestinationPath: elsewhere.path)
        let template = try NameTemplate(parsing: "day/{channel}_{sequence}")
        let target = try RecordDirectory.prepare(temporary.path, template: template)
        #expect(throws: FileFailure("record in", temporary.path("day"), text: "it is a symbolic link, or no directory"))
        {
            try target.makeParents(of: SegmentName(channel: "test", start: Self.now, sequence: 9, template: template))
        }
        let segment = StoredSegment(fileName: "day/\(name)", sequence: 1, bytes: 1, ended: Self.now, isFinished: true)
        let failure = #expect(throws: FileFailure.self) { try target.delete(segment, of: "test") }
        #expect(failure?.code == ENOTDIR || failure?.code == ELOOP)
        #expect(elsewhere.files == [name])
        // The same file directly in the directory is deleted.
        let own = StoredSegment(fileName: name, sequence: 1, bytes: 1, ended: Self.now, isFinished: true)
        #expect(try target.delete(own, of: "test") && !files.contains(name))
        #expect(try !target.delete(own, of: "test"), "it is gone already")
    }

    @Test
    func `Retention also deletes files in daily directories, and transport streams only if relay recorded them`() throws
    {
        let directory = try TemporaryDirectory()
        let template = try NameTemplate(parsing: "%Y-%m-%d/{channel}_{sequence}")
        let target = try RecordDirectory.prepare(directory.path, template: template)
        let source = try FLVFile.generate(in: try TemporaryDirectory(), rate: Self.rate, seconds: 3)
        var configuration = RecorderConfiguration(
            directory: target, channel: "test", length: .duration(.seconds(1)))
        for format in [RecordFormat.hybrid, .ts] {
            configuration.format = format
            let recording = Recording(
                directory: directory,
                recorder: Recorder(
                    configuration: configuration, description: source.description, keyframes: KeyframeSpy(),
                    logger: quiet))
            recording.record(source.packets)
        }
        let files = try target.segments(of: "test").map(\.fileName)
        #expect(Set(files.map { String($0.suffix(3)) }) == ["mp4", ".ts"])
        let foreign = String(files[0].prefix(11)) + "test_000100.ts"
        try Data(repeating: 0x47, count: 1880).write(to: URL(fileURLWithPath: directory.path(foreign)))
        for name in files + [foreign] { try age(directory.path(name), hours: 2) }
        try seeClock(in: target)
        let retention = Retention(
            directory: target, channel: "test", rules: RetentionRules(maximumAge: .seconds(3600)), leastFree: 0,
            observers: [upload], logger: quiet)
        retention.check()
        #expect(try target.segments(of: "test").map(\.fileName) == [foreign])
        #expect(upload.deleted.withLock { $0 } == files)
    }
}
