// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Synchronization
import TestSupport
import Testing

@testable import Archive
@testable import Segmenter

/// A symbolic link stands in for a mount point: it is redirected to another directory while files are recorded.
@Suite("Recording while another disk is mounted over the first")
struct SwappedDirectoryTests {
    private static let rate = FrameRate(25)
    private let temporary: TemporaryDirectory
    private var path: String { temporary.path("place") }

    init() throws { temporary = try TemporaryDirectory() }

    /// Redirects ``path`` to the directory `name`, which is created if it is missing.
    private func mount(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: temporary.path(name), withIntermediateDirectories: true)
        unlink(path)
        try #require(symlink(temporary.path(name), path) == 0)
    }

    private func names(_ directory: String) -> [String] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: temporary.path(directory))) ?? []
        return all.filter { !$0.hasPrefix(".") }.sorted()
    }

    @Test(
        "If another disk is mounted, the open file ends on the old disk, and a gap and a new file follow"
    )
    func goesOn() throws {
        try mount("first")
        // Earlier recordings on the second disk have higher numbers.
        try mount("second")
        let old = SegmentName(channel: "test", start: UTCTime(milliseconds: 1_795_000_000_000), sequence: 41)
        try temporary.write([0], to: "second/\(old.closed(attempt: 0))")
        try mount("first")
        let directory = try RecordDirectory.prepare(path)
        let recording = Recording(
            directory: temporary,
            recorder: Recorder(
                configuration: RecorderConfiguration(
                    directory: directory, channel: "test", length: .duration(.seconds(60)),
                    programStart: UTCTime(milliseconds: 1_795_269_790_123)),
                description: description(rate: Self.rate), keyframes: KeyframeSpy(), logger: quiet))
        let packets = syntheticProgram(rate: Self.rate, frames: 225, isKeyframe: { $0 % 25 == 0 })
        recording.feed(packets[..<(packets.count / 2)])
        recording.recorder.waitUntilIdle()
        #expect(names("first").count == 1 && names("first")[0].hasSuffix(".part"))
        recording.recorder.directoryChanged()
        recording.recorder.waitUntilIdle()
        #expect(recording.recorder.status.segmentsFinished == 0, "nothing has changed")
        try mount("second")
        try directory.checkMount()
        recording.recorder.directoryChanged()
        recording.feed(packets[(packets.count / 2)...])
        recording.finish()
        #expect(names("first").count == 1 && names("first")[0].hasSuffix(".mp4"), "\(names("first"))")
        let second = names("second")
        #expect(second.count == 2 && second.last?.hasSuffix("_000042.mp4") == true, "\(second)")
        let status = recording.recorder.status
        #expect(status.segmentsFinished == 2 && status.gapCount == 1)
        #expect(status.framesWritten + status.gapFrames == 225 && (1...25).contains(status.gapFrames))
    }

    @Test("Files that a crash left open on a disk that is mounted late are completed before a file is open there")
    func completesLate() throws {
        try mount("disk")
        let open = RecoveryTests.partName
        let closed = String(open.dropLast(5))
        try temporary.write(RecoveryTests.sample().open, to: "disk/\(open)")
        try mount("empty")
        let directory = try RecordDirectory.prepare(path)
        let witness = ChangeWitness()
        var configuration = RecorderConfiguration(
            directory: directory, channel: "test", length: .duration(.seconds(60)),
            programStart: UTCTime(milliseconds: 1_795_269_790_123))
        configuration.observers = [witness]
        let recorder = Recorder(
            configuration: configuration, description: description(rate: Self.rate), keyframes: KeyframeSpy(),
            logger: quiet)
        try mount("disk")
        try directory.checkMount()
        recorder.directoryChanged()
        recorder.waitUntilIdle()
        recorder.waitForCloser()
        #expect(names("disk") == [closed] && witness.recovered.withLock { $0 } == [closed])
        #expect(witness.changes.withLock { $0 } == 1)
    }
}

/// Records which files were completed, and how often another disk was mounted.
private final class ChangeWitness: RecordingObserver {
    let recovered = Mutex<[String]>([])
    let changes = Mutex(0)
    func segmentFinished(_ record: SegmentRecord) {}
    func segmentRecovered(fileName: String) { recovered.withLock { $0.append(fileName) } }
    func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime) {}
    func directoryChanged() { changes.withLock { $0 += 1 } }
}
