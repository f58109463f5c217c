// SPDX-License-Identifier: Apache-2.0

import Archive
import Catalogue
import Foundation
import Glibc
import Media
import RecordingSamples
import Segmenter
import Synchronization
import TestSupport
import Testing
import Upload

@testable import Channel

@Suite("Retention while a channel is not recorded")
struct IdleRetentionTests {
    private static let (first, second) = (SampleRecording.name, "test_20261121T150310.123Z_000002.mp4")
    private static let ofSource = "test-cam_20261121T140310.123Z_000001.mp4"

    private let place: TemporaryDirectory
    private let clock = ManualClock()
    private let isBusy = BusyFlag()
    private let retention: IdleRetention

    /// Whether the channel is recorded.
    private final class BusyFlag: Sendable {
        private let state = Mutex(false)
        var value: Bool {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }

    /// Makes a directory with two recordings of the channel and one of its source. The wall clock is ten hours later.
    init() throws {
        place = try TemporaryDirectory()
        let directory = try RecordDirectory.prepare(place.path)
        // An earlier run read the clock just now.
        let wallClock = { @Sendable in UTCTime(milliseconds: UTCTime.now.milliseconds + 36_000_000) }
        for channel in ["test", "test-cam"] {
            try RememberedClock(lastSeen: wallClock(), isConfirmed: true).write(of: channel, in: directory)
        }
        try Self.write(SampleRecording().closed, to: place.path(Self.first), minutesAgo: 2)
        try Self.write(SampleRecording(late: 3600).closed, to: place.path(Self.second), minutesAgo: 1)
        try Self.write(SampleRecording(channel: "test-cam").closed, to: place.path(Self.ofSource), minutesAgo: 1)
        retention = IdleRetention(channel: "test", clock: clock, wallClock: wallClock, logger: quiet) {
            [isBusy] in isBusy.value
        }
    }

    private static func write(_ bytes: [UInt8], to path: String, minutesAgo: Double) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -60 * minutesAgo)], ofItemAtPath: path)
    }

    private func recording(
        _ rules: RetentionRules?, upload: UploadTarget? = nil, sources: [String] = []
    ) -> ChannelConfiguration.Recording {
        ChannelConfiguration.Recording(
            directory: place.path, mount: .ignored, length: .duration(.seconds(60)), expected: .seconds(60),
            warning: .seconds(60), retention: rules, upload: upload, sources: sources)
    }

    /// Rules by which a file that is an hour old is too old.
    private var byAge: RetentionRules { RetentionRules(maximumAge: .seconds(3600), minimumAge: .zero) }

    /// Lets retention check the files several times, at intervals of more than a minute.
    private func look(times: Int = 5) {
        for _ in 0..<times {
            retention.look()
            clock.advance(by: .seconds(61))
        }
    }

    /// Lets retention check the files, at intervals of more than a minute, until only the files `left` remain.
    ///
    /// Another thread writes a deletion to the catalogue. While it creates the database, the clips cannot be read, and
    /// further files are kept until a later check. That check opens the directory only when the catalogue was written
    /// some seconds ago by the system's clock, which tests cannot advance.
    private func lookUntil(left: [String]) throws {
        try eventually("\(left) are left of \(files)") {
            look(times: 1)
            return files == left
        }
    }

    private var files: [String] {
        [Self.first, Self.second, Self.ofSource].filter { FileManager.default.fileExists(atPath: place.path($0)) }
    }

    @Test("Old files of the channel and of its sources are deleted a minute after the last recording has ended")
    func age() throws {
        retention.configure(recording(byAge, sources: ["cam"]))
        retention.look()
        clock.advance(by: .seconds(59))
        retention.look()
        #expect(files.count == 3)
        clock.advance(by: .seconds(1))
        try lookUntil(left: [])
    }

    @Test("Files of a source that is not recorded count as another channel's files, and are not deleted")
    func otherChannel() throws {
        retention.configure(recording(byAge))
        try lookUntil(left: [Self.ofSource])
        look()
        #expect(files == [Self.ofSource])
    }

    @Test("No file is deleted while a recording is active, nor in the first minute after it")
    func busy() throws {
        retention.configure(recording(byAge))
        isBusy.value = true
        look()
        isBusy.value = false
        retention.look()
        clock.advance(by: .seconds(59))
        retention.look()
        isBusy.value = true
        clock.advance(by: .seconds(59))
        retention.look()
        isBusy.value = false
        retention.look()
        #expect(files.count == 3)
        try lookUntil(left: [Self.ofSource])
    }

    @Test("Between recordings a size limit deletes files only if the channel has recorded with that limit")
    func size() {
        let rules = RetentionRules(maximumBytes: Int64(SampleRecording().closed.count) * 3 / 2, minimumAge: .zero)
        retention.configure(recording(rules))
        look()
        #expect(files.count == 3)
        retention.confirm(retention.restore(recording(rules)))
        look()
        #expect(files == [Self.second, Self.ofSource])
    }

    @Test("A file that may wait for its upload is not deleted")
    func upload() {
        retention.configure(recording(byAge, upload: .command("/bin/true")))
        look()
        #expect(files.count == 3)
    }

    @Test("A size limit that was configured after a recording began deletes no file when that recording has ended")
    func otherRules() {
        let rules = RetentionRules(maximumBytes: 1, minimumAge: .zero)
        retention.configure(recording(byAge))
        let recorded = retention.restore(recording(byAge))
        retention.configure(recording(rules))
        retention.confirm(recorded)
        look()
        #expect(files.count == 3)
    }

    @Test("A file that another process queues for upload in the meantime is not deleted")
    func queuedByAnother() async throws {
        try setEnd(minutesAgo: 45 - 600)
        retention.configure(recording(byAge))
        look(times: 3)
        #expect(files.count == 3)

        let other = Catalogue(directory: try RecordDirectory.prepare(place.path), channel: "test", logger: quiet)
        other.noteUpload(.waiting, of: Self.first)
        await withCheckedContinuation { done in other.finish { done.resume() } }
        try setEnd(minutesAgo: 2)
        look(times: 1)
        #expect(files.count == 3)
        // The catalogue was written some time ago.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -60)],
            ofItemAtPath: place.path(RecordDirectory.catalogueName))
        look(times: 1)
        #expect(files == [Self.first, Self.ofSource])
    }

    /// Begins a file of the channel, and locks it as a process does that records it.
    private func beginFile() throws -> (path: String, lock: FileHandle) {
        let path = place.path("test_20261121T160310.123Z_000003.mp4" + SegmentName.openMark)
        try Data("begun".utf8).write(to: URL(fileURLWithPath: path))
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        #expect(flock(file.fileDescriptor, LOCK_EX) == 0)
        return (path, file)
    }

    @Test("While another process records the channel in the directory, the channel's files are not deleted")
    func recordedByAnother() throws {
        let (path, lock) = try beginFile()
        retention.configure(recording(byAge))
        look()
        #expect(files.count == 3)
        try lock.close()
        try FileManager.default.removeItem(atPath: path)
        try lookUntil(left: [Self.ofSource])
    }

    @Test("Once another process begins to record the channel, the channel's files are no longer deleted")
    func recordingBegunByAnother() throws {
        try setEnd(minutesAgo: 45 - 600)
        retention.configure(recording(byAge))
        look(times: 3)
        let (path, lock) = try beginFile()
        try setEnd(minutesAgo: 2)
        look()
        #expect(files.count == 3)
        try lock.close()
        try FileManager.default.removeItem(atPath: path)
        try lookUntil(left: [Self.ofSource])
    }

    /// Sets the dates of the channel's files to `minutesAgo` before the time of the system clock.
    private func setEnd(minutesAgo: Double) throws {
        for name in [Self.first, Self.second] {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -60 * minutesAgo)], ofItemAtPath: place.path(name))
        }
    }

    @Test(
        "Idle retention deletes nothing without rules or once stopped; restoring rules does not replace existing ones")
    func without() throws {
        look()
        retention.configure(recording(nil))
        look()
        retention.configure(recording(byAge))
        retention.configure(nil)
        look()
        #expect(files.count == 3)
        _ = retention.restore(recording(byAge))
        _ = retention.restore(recording(nil))
        try lookUntil(left: [Self.ofSource])
        retention.configure(recording(byAge, sources: ["cam"]))
        retention.stop()
        look()
        #expect(files == [Self.ofSource])
    }

    @Test("A directory that does not exist yet is not created, and its files are found when it exists")
    func missing() throws {
        let moved = place.path + "-moved"
        try FileManager.default.moveItem(atPath: place.path, toPath: moved)
        retention.configure(recording(byAge))
        look()
        #expect(!FileManager.default.fileExists(atPath: place.path))
        try FileManager.default.moveItem(atPath: moved, toPath: place.path)
        try lookUntil(left: [Self.ofSource])
    }
}
