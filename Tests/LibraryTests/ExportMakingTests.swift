// SPDX-License-Identifier: Apache-2.0

import Archive
import Dispatch
import Foundation
import Media
import PacketSamples
import RecordingSamples
import Segmenter
import Stitcher
import Synchronization
import TestSupport
import Testing

@testable import Library

@Suite("The making of an export's file")
struct ExportMakingTests {
    /// Records the calls of the closures that a test passes to an export.
    private final class Notes: Sendable {
        private let state = Mutex((questions: 0, offsets: [Int64?]()))

        /// The number of times that ``ask()`` was called.
        var questions: Int { state.withLock { $0.questions } }
        var offsets: [Int64?] { state.withLock { $0.offsets } }

        /// Returns the number of calls so far, including this one.
        func ask() -> Int {
            state.withLock { state in
                state.questions += 1
                return state.questions
            }
        }

        func tell(_ offset: Int64?) { state.withLock { $0.offsets.append(offset) } }
    }

    private let place: TemporaryDirectory
    private let work: TemporaryDirectory
    private let directory: RecordDirectory
    private let archive: ChannelArchive
    private let notes = Notes()

    init() throws {
        (place, work) = (try TemporaryDirectory(), try TemporaryDirectory())
        directory = try .prepare(place.path)
        archive = ChannelArchive(place.path, channel: "test")
    }

    private var output: String { work.path("export.mp4") }

    /// Records two seconds of real video and audio, with a keyframe each second.
    private func record() throws -> SegmentFacts {
        let clip = try CodedClip(video: "libx264", audio: "aac", options: ["-bf", "0"], in: work.path)
        let configuration = RecorderConfiguration(
            directory: directory, channel: "test", length: .duration(.seconds(60)), programStart: SampleRecording.start)
        let recorder = Recorder(
            configuration: configuration, description: clip.description, keyframes: DeafKeyframes(), logger: quiet)
        recorder.accept(clip.packets)
        recorder.wake()
        let done = DispatchSemaphore(value: 0)
        recorder.finish(deadline: .distantFuture) { done.signal() }
        done.wait()
        return try SegmentReader.read(place.path(try #require(place.files.first { $0.hasSuffix(".mp4") })))
    }

    /// A request for a range of `recording`, in milliseconds since its first frame.
    private func request(_ range: Range<Int64>, of recording: SegmentFacts, isExact: Bool) -> ExportRequest {
        let start = recording.start.milliseconds
        return ExportRequest(
            channel: "test", range: start + range.lowerBound..<start + range.upperBound, name: nil, isExact: isExact)
    }

    /// A request for a clip of the run `run`.
    private func request(
        _ times: Range<ProgramInstant>, ofRun run: String, isRecorded: @escaping @Sendable () -> Bool = { true }
    ) -> ExportRequest {
        var request = ExportRequest(channel: "test", range: 0..<1, name: nil, isExact: nil)
        request.clip = ClipExport(
            run: run, times: times, frameDuration: .milliseconds(40), isRecorded: isRecorded,
            finished: { [notes] in notes.tell($0) })
        return request
    }

    private func making(
        _ request: ExportRequest, isCancelled: @escaping @Sendable () -> Bool = { false }
    ) -> ExportMaking {
        ExportMaking(
            request: request, archive: archive, directory: directory, output: output, reserve: 0,
            progress: { _, _ in }, isCancelled: isCancelled)
    }

    @Test("An exact export has only the frames of its range, and a copied export begins with a keyframe before it")
    func range() throws {
        let recording = try record()
        // Frames 10 to 29 are on air in this range. Those up to frame 24 refer to a keyframe before it.
        let exact = try making(request(420..<1180, of: recording, isExact: true)).make()
        #expect(exact.isExact && exact.frames.encoded > 0 && exact.frames.copied + exact.frames.encoded == 20)
        #expect(try CodedClip(path: output).payloads(.video).count == 20)
        try FileManager.default.removeItem(atPath: output)
        let copied = try making(request(420..<1180, of: recording, isExact: false)).make()
        #expect(!copied.isExact && copied.frames.encoded == 0 && copied.frames.copied > 20)
        #expect(copied.details.contains { $0.hasSuffix("earlier than asked for") }, "\(copied.details)")
        #expect(try CodedClip(path: output).payloads(.video).count == copied.frames.copied)
    }

    @Test("A clip is exported as soon as its last frames are on the disk, and its store learns where its audio begins")
    func clip() throws {
        let position = try #require(try record().position)
        let (first, end) = (position.programStart + .milliseconds(400), position.programStart + .milliseconds(1200))
        let request = request(first..<end, ofRun: position.run) { [notes] in notes.ask() == 3 }
        let result = try making(request).make()
        #expect(result.frames.copied + result.frames.encoded == 20)
        #expect(try CodedClip(path: output).payloads(.video).count == 20)
        #expect(notes.questions == 3 && notes.offsets == [result.audioOffset])
    }

    @Test("If an export is cancelled before its clip is on the disk, no file is made, and its files remain protected")
    func cancelled() throws {
        let making = making(request(0..<1_000_000_000, ofRun: "a1") { false }, isCancelled: { true })
        let failure = #expect(throws: ClipFailure.self) { try making.make() }
        #expect(failure?.isCancellation == true && notes.offsets.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: output))
    }

    @Test("If a recording is closed under another name before it is read, the export finds it under that name")
    func renamed() throws {
        let sample = SampleRecording(ending: .stop)
        let (open, closed) = (SampleRecording.name + SegmentName.openMark, SampleRecording.name)
        try place.write(sample.open, to: open)
        let (openPath, closedPath) = (place.path(open), place.path(closed))
        // An export asks whether it is cancelled after it has selected the files, and before it reads the first one.
        let making = making(request(1_000_000_000..<2_000_000_000, ofRun: "a1")) { [notes] in
            if notes.ask() == 1 {
                try? Data(sample.closed).write(to: URL(fileURLWithPath: closedPath))
                try? FileManager.default.removeItem(atPath: openPath)
            }
            return false
        }
        let result = try making.make()
        #expect(result.frames == (25, 0) && notes.questions > 1 && notes.offsets.count == 1)
        #expect(!FileManager.default.fileExists(atPath: openPath))
    }
}
