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
@testable import MP4
@testable import Segmenter

/// Records the names of finished files.
private final class FinishedNames: RecordingObserver {
    let names = Mutex<[String]>([])
    let newest = Mutex<SegmentRecord?>(nil)
    func segmentFinished(_ record: SegmentRecord) {
        names.withLock { $0.append(record.fileName) }
        newest.withLock { $0 = record }
    }
    func segmentRecovered(fileName: String) {}
    func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime) {}
}

/// Removes a file as soon as another one is finished.
private final class Remover: RecordingObserver {
    let path = Mutex("")
    func segmentFinished(_ record: SegmentRecord) { _ = path.withLock { unlink($0) } }
    func segmentRecovered(fileName: String) {}
    func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime) {}
}

@Suite struct CloserTests {
    private static let rate = FrameRate(25)

    private func program(_ seconds: Int64) -> [EncodedPacket] {
        syntheticProgram(rate: Self.rate, frames: seconds * 25, isKeyframe: { $0 % 25 == 0 })
    }

    /// Takes every name that the open file could get, so that it cannot be renamed.
    private func occupy(_ open: String, in directory: TemporaryDirectory) throws -> [String] {
        let name = try #require(SegmentName(fileName: open))
        let names = (0..<1000).map { directory.path(name.closed(attempt: $0)) }
        for name in names { try #require(FileManager.default.createFile(atPath: name, contents: nil)) }
        return names
    }

    private func recording(
        hasVideo: Bool = true, format: RecordFormat = .hybrid, observers: [any RecordingObserver] = []
    ) throws -> (Recording, blockers: [String]) {
        let directory = try TemporaryDirectory()
        let both = description(rate: Self.rate)
        let recording = try Recording(
            hasVideo ? both : StreamDescription(audio: both.audio), length: .duration(.seconds(60)),
            directory: directory, observers: observers, format: format)
        let packets = program(9).filter { hasVideo || $0.track == .audio && $0.pts >= 0 }
        recording.feed(packets.filter { $0.programDts < 3_000_000_000 })
        recording.recorder.waitUntilIdle()
        let blockers = try occupy(try #require(recording.recorder.status.fileName), in: directory)
        recording.recorder.suspend("a test")
        recording.recorder.waitUntilIdle()
        recording.recorder.waitForCloser()
        #expect(recording.recorder.status.segmentsFinished == 0)
        #expect(recording.recorder.status.lastError != nil)
        #expect(directory.files.contains { $0.hasSuffix(".part") })
        return (recording, blockers)
    }

    @Test func `A file that could not be closed is closed when recording resumes`() throws {
        let (recording, blockers) = try recording()
        for name in blockers { try FileManager.default.removeItem(atPath: name) }
        recording.recorder.resume()
        recording.recorder.waitUntilIdle()
        recording.recorder.waitForCloser()
        #expect(recording.recorder.status.segmentsFinished == 1)
        recording.feed(program(9).filter { $0.programDts >= 5_000_000_000 })
        recording.finish()
        #expect(recording.recorder.status.segmentsFinished == 2)
        #expect(recording.finished.count == 2 && recording.directory.files.count == 2)
    }

    @Test func `A failed close is tried again when recording ends; if it fails again, the file stays open`() throws {
        let (recording, blockers) = try recording()
        recording.finish()
        #expect(recording.recorder.status.segmentsFinished == 0)
        #expect(recording.directory.files.contains { $0.hasSuffix(".part") })
        for name in blockers { try FileManager.default.removeItem(atPath: name) }
        let record = try RecordDirectory.prepare(recording.directory.path)
        guard case .renamed = try SegmentRecovery.run(in: record, channel: "test").first?.outcome else {
            Issue.record("\(recording.directory.files)")
            return
        }
    }

    @Test func `Data lost from a file that could not be closed is recorded as a separate gap`() throws {
        let (recording, blockers) = try recording()
        let open = try #require(recording.directory.files.first { $0.hasSuffix(".part") })
        let whole = try FragmentedFileReader(try FileDescriptor.open(existing: recording.directory.path(open))).read()
        // The file as it was before its index was written, without its last fragments.
        guard case .closed = whole else {
            Issue.record("it was complete but for its name")
            return
        }
        for name in blockers { try FileManager.default.removeItem(atPath: name) }
        let descriptor = try FileDescriptor.open(existing: recording.directory.path(open))
        try descriptor.write([SharedBytes(MovieBox.openHead)], at: 0)
        try descriptor.truncate(to: try descriptor.attributes().size * 6 / 10)
        recording.recorder.resume()
        recording.recorder.waitUntilIdle()
        recording.recorder.waitForCloser()
        let status = recording.recorder.status
        #expect(status.segmentsFinished == 1)
        let gap = try #require(status.gaps.first)
        #expect(gap.reason.contains("before it had written") && gap.frames > 0 && gap.frames < 75)
        let end = try #require(gap.to)
        #expect(end >= 2_900_000_000 && end - gap.from == .milliseconds(gap.frames * 40))
        recording.finish()
    }

    @Test func `If an empty file could not be removed, no gap is recorded`() {
        let written = SegmentRecord(
            fileName: "a", channel: "test", sequence: 1, start: UTCTime(milliseconds: 0), programStart: 5,
            programEnd: 5, frames: 0, audioSamples: 0, bytes: 0, ending: .error)
        #expect(RecordingGap(lostOf: written, kept: .nothing) == nil)
    }

    // Regression: the gap of a file whose last frame was written before the one that is shown in front of it began half a
    // frame late.
    @Test func `A gap begins with the first missing frame, even if the file has a later one`() throws {
        let second: Int64 = 1_000_000_000
        let written = SegmentRecord(
            fileName: "a", channel: "test", sequence: 1, start: UTCTime(milliseconds: 0), programStart: .zero,
            programEnd: ProgramInstant(nanoseconds: second), frames: 25, audioSamples: 0, bytes: 1, ending: .error)
        // The file contains the frames 0 to 13 and 15.
        let gap = try #require(RecordingGap(lostOf: written, kept: .frames(15, whole: .milliseconds(560))))
        #expect(gap.from == 560_000_000 && gap.to == 1_000_000_000 && gap.frames == 10)
        let even = try #require(RecordingGap(lostOf: written, kept: .frames(15)))
        #expect(even.from == 600_000_000)
        #expect(RecordingGap(lostOf: written, kept: .frames(25, whole: .seconds(1))) == nil)
    }

    /// Audio has no frames to count, so its loss must be measured in time.
    @Test(arguments: [nil, 0.6], [RecordFormat.hybrid, .ts])
    func `Data lost from an audio-only file is recorded as a gap, too`(share: Double?, format: RecordFormat) throws {
        let observer = FinishedNames()
        let (recording, blockers) = try recording(hasVideo: false, format: format, observers: [observer])
        let open = try #require(recording.directory.files.first { $0.hasSuffix(".part") })
        for name in blockers { try FileManager.default.removeItem(atPath: name) }
        if let share {
            let descriptor = try FileDescriptor.open(existing: recording.directory.path(open))
            if format == .hybrid { try descriptor.write([SharedBytes(MovieBox.openHead)], at: 0) }
            try descriptor.truncate(to: Int64(Double(try descriptor.attributes().size) * share))
        } else {
            try FileManager.default.removeItem(atPath: recording.directory.path(open))
        }
        recording.recorder.resume()
        recording.recorder.waitUntilIdle()
        recording.recorder.waitForCloser()
        let status = recording.recorder.status
        #expect(status.segmentsFinished == (share == nil ? 0 : 1))
        let gap = try #require(status.gaps.first)
        #expect(gap.reason.contains("before it had written") && gap.frames == 0 && gap.amount.hasSuffix(" s"))
        let end = try #require(gap.to)
        let length = end - gap.from
        #expect((2_950_000_000...3_050_000_000).contains(end))
        #expect(
            share == nil ? gap.from == 0 : (Duration.milliseconds(500) ... .milliseconds(2500)).contains(length),
            "\(gap)")
        // An MP4 file contains its own metadata, so the observers get a record only for a transport stream.
        let record = observer.newest.withLock { $0 }
        #expect(record?.programEnd == (share == nil || format == .hybrid ? nil : gap.from))
        #expect(record?.ending == (record == nil ? nil : .error))
        recording.finish()
    }

    // Regression: the closer took such a file for one of another process, so the file stayed open until the next start.
    @Test func `A file that could not be closed and is now locked by another process is closed later`() throws {
        let (recording, blockers) = try recording()
        let open = try #require(recording.directory.files.first { $0.hasSuffix(".part") })
        for name in blockers { try FileManager.default.removeItem(atPath: name) }
        let stranger = try FileDescriptor.open(existing: recording.directory.path(open))
        #expect(stranger.lock())
        recording.recorder.resume()
        recording.recorder.waitUntilIdle()
        recording.recorder.waitForCloser()
        #expect(recording.recorder.status.segmentsFinished == 0)
        stranger.unlock()
        recording.finish()
        let status = recording.recorder.status
        #expect(status.segmentsFinished == 1)
        #expect(!status.gaps.contains { $0.reason.contains("before it had written") }, "\(status.gaps)")
        #expect(recording.directory.files.allSatisfy { $0.hasSuffix(".mp4") })
    }

    @Test func `A file that could not be closed and was then deleted is recorded as a separate gap`() throws {
        let (recording, blockers) = try recording()
        let open = try #require(recording.directory.files.first { $0.hasSuffix(".part") })
        for name in blockers + [recording.directory.path(open)] { try FileManager.default.removeItem(atPath: name) }
        recording.recorder.resume()
        recording.recorder.waitUntilIdle()
        recording.recorder.waitForCloser()
        #expect(recording.recorder.status.gaps.first?.from == 0)
        #expect(recording.recorder.status.gaps.first?.frames == recording.recorder.status.framesWritten)
        recording.finish()
    }

    @Test(arguments: [false, true])
    func `If another process repaired a file that was not closed, the file's lost part becomes a gap`(isCut: Bool)
        throws
    {
        let (recording, blockers) = try recording()
        let open = try #require(recording.directory.files.first { $0.hasSuffix(".part") })
        for name in blockers { try FileManager.default.removeItem(atPath: name) }
        if isCut {
            let descriptor = try FileDescriptor.open(existing: recording.directory.path(open))
            try descriptor.write([SharedBytes(MovieBox.openHead)], at: 0)
            try descriptor.truncate(to: try descriptor.attributes().size * 6 / 10)
        }
        let record = try RecordDirectory.prepare(recording.directory.path)
        #expect(SegmentRecovery.run(in: record, open: [open]).count == 1)
        let written = recording.recorder.status.framesWritten
        let name = try #require(recording.directory.files.first)
        let kept = try SegmentReader.read(recording.directory.path(name)).frames
        recording.recorder.resume()
        recording.recorder.waitUntilIdle()
        recording.recorder.waitForCloser()
        #expect(recording.recorder.status.segmentsFinished == 1)
        #expect(recording.recorder.status.gaps.map(\.frames) == (isCut ? [written - kept] : []))
        #expect(isCut == (kept < written))
        recording.finish()
    }

    private func file(_ number: Int, in directory: TemporaryDirectory, isEmpty: Bool = false) throws -> SegmentFile {
        let start = UTCTime(milliseconds: 1_795_269_790_123)
        let settings = SegmentFileSettings(
            directory: directory.path, name: SegmentName(channel: "test", start: start, sequence: number),
            description: description(rate: Self.rate),
            tags: MovieTags(channel: "test", start: start, encoderSettings: ""), fragmentDuration: .seconds(1))
        let keyframe = videoPacket(0, rate: Self.rate, isKeyframe: true)
        let parent = try FileDescriptor.open(directory: directory.path)
        let file = try SegmentFile(settings, in: parent, start: SegmentStart(keyframe: keyframe))
        if !isEmpty {
            _ = try file.append(keyframe, clock: SystemClock())
            try file.flush()
        }
        return file
    }

    // Regression: a hurried close patched the head without waiting for the index, never synchronised the file, and
    // reported it as finished.
    @Test
    func `If too many files wait to be closed, the excess files get only their index and are closed later`() throws {
        let directory = try TemporaryDirectory()
        let queue = DispatchQueue(label: "test.closer")
        let observer = FinishedNames()
        let closer = SegmentCloser(
            directory: try .prepare(directory.path), channel: "test", status: RecorderStatusBox(),
            observers: [observer], logger: quiet, queue: queue)
        queue.suspend()
        for number in 1...12 { closer.close(try file(number, in: directory)) }
        #expect(closer.backlog.waiting == 12)
        queue.resume()
        queue.sync {}
        #expect(closer.backlog == SegmentCloser.Backlog(waiting: 0, hurried: 4))
        #expect(directory.files.count == 12 && directory.files.allSatisfy { $0.hasSuffix(".mp4") })
        let sequences = observer.names.withLock { $0.compactMap { SegmentName(fileName: $0)?.sequence } }
        #expect(sequences == Array(5...12) + Array(1...4))
        for file in directory.files {
            #expect(try SegmentReader.read(directory.path(file)).isClosed)
        }
    }

    // Regression: if the file that exceeds the limit of postponed files was lost, this was not counted as a gap.
    @Test func `If a file is lost before it is closed, a gap is recorded, even if too many other files wait`() throws {
        let directory = try TemporaryDirectory()
        let queue = DispatchQueue(label: "test.closer")
        let (status, synchroniser) = (RecorderStatusBox(), FileSynchroniser(name: "test"))
        let remover = Remover()
        let closer = SegmentCloser(
            directory: try .prepare(directory.path), channel: "test", status: status, observers: [remover],
            synchroniser: synchroniser, clock: ManualClock(), logger: quiet, queue: queue)
        queue.suspend()
        // 65 files are postponed, one more than the limit, while eight wait to be closed.
        for number in 1...73 {
            let file = try file(number, in: directory)
            if number == 65 { remover.path.withLock { $0 = file.descriptor.path } }
            closer.close(file)
        }
        queue.resume()
        queue.sync {}
        queue.sync {}
        #expect(status.value.withLock { $0.segmentsFinished } == 72)
        #expect(status.value.withLock { $0.gaps.map(\.frames) } == [1])
        #expect(!closer.backlog.isUnfinished)
    }

    // Regression: each file that was closed caused a complete read of another one that could not be closed.
    @Test func `A failed close is tried again once a minute while other files are closed`() throws {
        let (directory, clock, log) = (try TemporaryDirectory(), ManualClock(), CollectedLog(from: .info))
        let closer = SegmentCloser(
            directory: try .prepare(directory.path), channel: "test", status: RecorderStatusBox(), clock: clock,
            logger: log.logger)
        func attempts(closing number: Int) throws -> Int {
            closer.close(try file(number, in: directory))
            closer.waitUntilIdle()
            closer.waitUntilIdle()
            return log.lines(containing: "segment still not closed").count
        }
        let start = UTCTime(milliseconds: 1_795_269_790_123)
        _ = try occupy(SegmentName(channel: "test", start: start, sequence: 1).open, in: directory)
        #expect(try attempts(closing: 1) == 0)
        #expect(try attempts(closing: 2) == 1)
        #expect(try attempts(closing: 3) == 1)
        clock.advance(by: .seconds(60))
        #expect(try attempts(closing: 4) == 2)
    }

    @Test func `An open file whose index is written can be read completely before it is closed`() throws {
        let directory = try TemporaryDirectory()
        let file = try file(1, in: directory)
        try file.appendIndex()
        let facts = try SegmentReader.read(directory.path(file.name.open))
        #expect(!facts.isClosed && facts.frames == 1)
        guard case .finished(let record) = try file.close() else {
            Issue.record("not finished")
            return
        }
        #expect(try SegmentReader.read(directory.path(record.fileName)).isClosed)
    }

    @Test
    func `A disk failure during one file's close affects no other file, and that file is not reported as finished`()
        throws
    {
        let directory = try TemporaryDirectory()
        let synchroniser = FileSynchroniser(name: "test") { (file) throws(FileFailure) in
            if file.path.contains("_000001.") { throw FileFailure("synchronise", file.path, code: EIO) }
        }
        let status = RecorderStatusBox()
        let closer = SegmentCloser(
            directory: try .prepare(directory.path), channel: "test", status: status, synchroniser: synchroniser,
            logger: quiet)
        // The test must not keep the file that it hands over, because the file would stay locked.
        func close(_ number: Int) throws -> String {
            let file = try file(number, in: directory)
            synchroniser.synchronise(file.descriptor)
            synchroniser.waitUntilIdle()
            #expect((synchroniser.failure(of: file.descriptor.path) != nil) == (number == 1))
            closer.close(file)
            return file.name.open
        }
        let bad = try close(1)
        closer.waitUntilIdle()
        #expect(closer.backlog.isUnfinished && status.value.withLock { $0.segmentsFinished } == 0)
        #expect(status.value.withLock { $0.lastError }?.contains("synchronise") == true)
        #expect(directory.files == [bad] && synchroniser.failure(of: directory.path(bad)) == nil)
        // The next file is closed. After that, recovery completes the first file.
        _ = try close(2)
        closer.waitUntilIdle()
        closer.waitUntilIdle()
        #expect(status.value.withLock { $0.segmentsFinished } == 2)
        #expect(directory.files.allSatisfy { $0.hasSuffix(".mp4") })
    }

    @Test func `A file is closed only after its earlier synchronisations to the disk are done`() throws {
        let directory = try TemporaryDirectory()
        let file = try file(1, in: directory)
        let gate = DispatchSemaphore(value: 0)
        let synchroniser = FileSynchroniser(name: "test") { (file) throws(FileFailure) in
            gate.wait()
            throw FileFailure("synchronise", file.path, code: EIO)
        }
        let status = RecorderStatusBox()
        let closer = SegmentCloser(
            directory: try .prepare(directory.path), channel: "test", status: status, synchroniser: synchroniser,
            logger: quiet)
        synchroniser.synchronise(file.descriptor)
        closer.close(file)
        gate.signal()
        closer.waitUntilIdle()
        #expect(status.value.withLock { $0.segmentsFinished } == 0 && closer.backlog.isUnfinished)
    }

    @Test func `Closing a file returns its final size, and closing an empty file is not an error`() throws {
        let directory = try TemporaryDirectory()
        guard case .finished(let record) = try file(1, in: directory).close() else {
            Issue.record("not finished")
            return
        }
        let name = record.fileName
        let size = try FileManager.default.attributesOfItem(atPath: directory.path(name))[.size] as? Int64
        #expect(record.bytes == size)
        #expect(try file(2, in: directory, isEmpty: true).close() == .empty)
        #expect(directory.files == [name])
    }
}
