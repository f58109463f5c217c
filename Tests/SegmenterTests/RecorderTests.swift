// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Synchronization
import TestSupport
import Testing

@testable import Archive
@testable import MP4
@testable import Segmenter

@Suite struct RecorderTests {
    private static let rate = FrameRate(25)

    private func program(_ seconds: Int64, size: Int = 100) -> [EncodedPacket] {
        syntheticProgram(rate: Self.rate, frames: seconds * 25, isKeyframe: { $0 % 25 == 0 }, size: size)
    }

    @Test func `Suspending a recorder closes its file, and the gap counts the missing frames`() throws {
        let recording = try Recording(
            description(rate: Self.rate), length: .duration(.seconds(60)), directory: try TemporaryDirectory())
        let packets = program(9)
        let third = packets.count / 3
        recording.feed(packets[..<third])
        recording.recorder.waitUntilIdle()
        recording.recorder.suspend("the disk is full")
        recording.feed(packets[third..<2 * third])
        recording.recorder.waitUntilIdle()
        recording.recorder.resume()
        recording.feed(packets[(2 * third)...])
        recording.finish()
        let status = recording.recorder.status
        #expect(status.state == .stopped)
        #expect(status.segmentsFinished == 2 && recording.finished.count == 2)
        #expect(status.gapCount == 1)
        let gap = try #require(status.gaps.first)
        #expect(gap.reason == "the disk is full")
        #expect(status.framesWritten + gap.frames == 225)
        #expect(gap.to.map { $0 - gap.from } == .milliseconds(gap.frames * 40))
    }

    @Test func `If the recorder's queue is full there is a gap, and recording continues at a keyframe`() throws {
        let recording = try Recording(
            description(rate: Self.rate), length: .duration(.seconds(60)), directory: try TemporaryDirectory(),
            queueLimit: 100_000)
        let packets = program(10, size: 1000)
        // The queue is not drained while the first seven seconds arrive.
        for packet in packets where packet.programDts < 7_000_000_000 { recording.recorder.accept([packet]) }
        // Frames count as soon as they are refused.
        let refused = recording.recorder.status.gapFrames
        #expect(refused > 0 && refused < 175)
        recording.recorder.wake()
        recording.recorder.waitUntilIdle()
        #expect(recording.recorder.status.gapFrames == refused)
        recording.feed(packets.filter { $0.programDts >= 7_000_000_000 })
        recording.finish()
        let status = recording.recorder.status
        #expect(status.framesWritten + status.gapFrames == 250)
        #expect(status.gapCount == 1)
        #expect(status.gaps.first?.reason.contains("too slow") == true)
        #expect(status.segmentsFinished == 2)
        #expect(recording.keyframes.requests.withLock { $0.contains(nil) })
    }

    @Test func `If its directory vanishes a recording has a gap, and resumes when the directory is back`() throws {
        let (directory, clock) = (try TemporaryDirectory(), ManualClock())
        let path = directory.path("recordings")
        let configuration = RecorderConfiguration(
            directory: try .prepare(path), channel: "test", length: .duration(.seconds(60)))
        let recorder = Recorder(
            configuration: configuration, description: description(rate: Self.rate), keyframes: KeyframeSpy(),
            clock: clock, logger: quiet)
        let packets = program(12)
        func feed(_ range: Range<Int64>) {
            for packet in packets where range.contains(packet.programDts.nanoseconds / 1_000_000_000) {
                recorder.accept([packet])
                recorder.wake()
            }
            recorder.waitUntilIdle()
        }
        feed(-1..<4)
        try FileManager.default.removeItem(atPath: path)
        feed(4..<8)
        #expect(recorder.status.lastError?.contains("removed") == true)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        clock.advance(by: .seconds(2))
        feed(8..<12)
        let done = DispatchSemaphore(value: 0)
        recorder.finish(deadline: .distantFuture) { done.signal() }
        done.wait()
        #expect(recorder.status.gapCount == 1)
        #expect(recorder.status.segmentsFinished == 1)
        let files = try FileManager.default.contentsOfDirectory(atPath: path)
        // There is one file in addition to the mark file that identifies the new directory.
        #expect(files.count { !$0.hasPrefix(RecordDirectory.markPrefix) } == 1, "\(files)")
    }

    @Test func `Sequence numbers continue after existing files, and no file is overwritten`() throws {
        let directory = try TemporaryDirectory()
        for expected in 1...2 {
            let recording = try Recording(
                description(rate: Self.rate), length: .duration(.seconds(2)), directory: directory)
            recording.feed(program(4))
            recording.finish()
            #expect(recording.finished.count == expected * 2)
        }
        let sequences = directory.files.compactMap { SegmentName(fileName: $0)?.sequence }
        #expect(sequences.sorted() == [1, 2, 3, 4])
    }

    private func limited(_ directory: TemporaryDirectory, to bytes: Int64) throws -> Recording {
        var configuration = RecorderConfiguration(
            directory: try .prepare(directory.path), channel: "test", length: .duration(.seconds(600)))
        configuration.largestFileBytes = bytes
        let recorder = Recorder(
            configuration: configuration, description: description(rate: Self.rate), keyframes: KeyframeSpy(),
            logger: quiet)
        return Recording(directory: directory, recorder: recorder)
    }

    // Regression: the maximum file size of FAT32, 4 GiB, was taken for a broken disk: 2 s were lost at each file, and
    // the file was never closed.
    @Test func `A file near the file system's maximum file size ends at a keyframe, and no frame is lost`() throws {
        let recording = try limited(try TemporaryDirectory(), to: 1_200_000)
        recording.record(program(120, size: 1000))
        let status = recording.recorder.status
        #expect(status.gapCount == 0 && status.lastError == nil)
        #expect(status.framesWritten == 3000)
        #expect(recording.finished.count >= 3 && recording.finished.count == status.segmentsFinished)
        for file in recording.finished {
            #expect(try FileDescriptor.open(readOnly: file).size() <= 1_200_000)
            #expect(try SegmentReader.read(file).isClosed)
        }
    }

    @Test
    func `If no keyframe comes in time, a file at the maximum size is closed, and the next keyframe begins another`()
        throws
    {
        let recording = try limited(try TemporaryDirectory(), to: 300_000)
        let packets = syntheticProgram(
            rate: Self.rate, frames: 1000, isKeyframe: { $0.isMultiple(of: 500) }, size: 1000)
        recording.record(packets)
        let status = recording.recorder.status
        #expect(status.framesWritten + status.gapFrames == 1000)
        #expect(status.framesWritten > 300 && status.gapCount == 2)
        #expect(recording.finished.count == 2 && status.segmentsFinished == 2)
        for file in recording.finished {
            #expect(try FileDescriptor.open(readOnly: file).size() <= 300_000)
            #expect(try SegmentReader.read(file).isClosed)
        }
    }

    @Test func `A recording over 4 GiB has offsets and sizes of 64 bits`() {
        var table = SampleTable()
        let sample = SampleEntry(decodeTime: 0, duration: 1, compositionOffset: 0, size: 10, isSync: true)
        table.append([sample], at: 6 << 30)
        let layout = MovieLayout(description: description(rate: Self.rate), creationTime: 0, userData: [])
        let moov = MovieBox.closed(layout, [MovieLayout.videoID: table])
        #expect(moov.indices.contains { Array(moov[$0...].prefix(8)) == [0, 0, 0, 1, 0x80, 0, 0, 0] })
        #expect(MovieBox.closedHead(mediaEnd: 6 << 30).suffix(8) == [0, 0, 0, 1, 0x7F, 0xFF, 0xFF, 0xE0])
    }
}
