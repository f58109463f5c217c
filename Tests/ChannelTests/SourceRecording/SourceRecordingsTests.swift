// SPDX-License-Identifier: Apache-2.0

import Archive
import Dispatch
import Encoder
import FanOut
import Foundation
import Ingest
import Media
import Program
import Segmenter
import Status
import Synchronization
import TestSupport
import Testing
import Upload

@testable import Channel

@Suite("The recordings of a program's sources")
struct SourceRecordingsTests {
    private static let rate = FrameRate(25)
    private static let format = VideoFormat(width: 64, height: 48, frameRate: rate)

    /// Receives the program's frames, and calls a test's closure at one of them.
    private final class Air: ProgramSink {
        private let frame: Int64
        private let work: @Sendable () -> Void

        init(at frame: Int64, _ work: @escaping @Sendable () -> Void) { (self.frame, self.work) = (frame, work) }

        func encode(_ frame: VideoFrame, at index: Int64) throws { if index == self.frame { work() } }
        func encode(_ audio: AudioBuffer) throws {}
        func finish() throws {}
    }

    /// Records the requests for keyframes of the program.
    private final class Requests: KeyframeRequester {
        private let state = Mutex<[ProgramInstant?]>([])
        var all: [ProgramInstant?] { state.withLock { $0 } }

        func requestKeyframe(at programTime: ProgramInstant?) { state.withLock { $0.append(programTime) } }
    }

    private let place: TemporaryDirectory
    private let bus = Bus()
    private let requests = Requests()
    private let group = DispatchGroup()

    init() throws { place = try TemporaryDirectory() }

    /// The recordings of a camera and of a microphone.
    private func make(in directory: String = "") -> SourceRecordings {
        let sources = [("cam", true), ("voice", false)].map { name, hasVideo in
            let source = Bus()
            source.show(Scene(video: .still(SlatePattern.frame(Self.format, lines: [])), audio: nil))
            bus.add(source)
            return (name: name, bus: source, hasVideo: hasVideo, canBeCopied: false)
        }
        var encoder = EncoderSettings()
        (encoder.preset, encoder.tune, encoder.rateControl) = (.ultrafast, .zerolatency, .bitrate(200_000))
        let recording = ChannelConfiguration.Recording(
            directory: place.path(directory), mount: .ignored, length: .duration(.seconds(60)), expected: .seconds(1),
            warning: .seconds(1), reserve: ByteSize(bytes: 100_000), sources: ["cam", "voice"])
        let program = Recording.Program(
            channel: "test", hasOutputs: true, delay: nil, gop: .seconds(2), description: StreamDescription(),
            keyframes: requests, ledger: SpaceLedger(), queues: QueueBudget(), clock: SystemClock(), logger: quiet)
        let budget = StorageBudget(
            videoBitrate: 200_000, audioBitrate: 96_000, duration: .seconds(1), reserve: ByteSize(bytes: 100_000))
        return SourceRecordings(
            RecordedSources(bus: bus, sources: sources, format: Self.format, encoder: encoder), recording,
            of: program, as: Recording.Companion(), budget: budget)
    }

    /// Runs a program of 50 frames, and does `work` at frame 20. The program is short, so that even a slow encoder
    /// drops no frame.
    private func play(_ work: @escaping @Sendable () -> Void) throws {
        bus.show(Scene(video: .still(SlatePattern.frame(Self.format, lines: [])), audio: nil))
        let program = Program(
            frameRate: Self.rate, audio: .program, pacing: .realTime(lead: 0), frameLimit: 50, bus: bus,
            format: Self.format, sink: Air(at: 20, work), clock: ManualClock(), logger: quiet)
        #expect(try program.run() == .finished)
    }

    private func finish(_ recordings: SourceRecordings) throws {
        recordings.finish(in: group)
        try eventually("all work on the files is done") { group.wait(timeout: .now()) == .success }
    }

    /// The facts of the closed files of a source, in order.
    private func facts(_ source: String) throws -> [SegmentFacts] {
        try place.files.filter { $0.hasPrefix("test-\(source)_") && $0.hasSuffix(".mp4") }.map {
            try SegmentReader.read(place.path($0))
        }
    }

    @Test("Each source has its own files; a cut ends them all at one frame, where the program has a keyframe")
    func cut() throws {
        let recordings = make()
        #expect(recordings.start(joinsRunningProgram: false, in: group) == .zero && requests.all.isEmpty)
        let cut = Mutex(ProgramInstant.zero)
        try play { cut.withLock { $0 = recordings.cut() } }
        try finish(recordings)
        // The cut is ten frames ahead of the next frame.
        let time = Self.rate.start(of: 31)
        #expect(cut.withLock { $0 } == time && requests.all == [time])
        let (camera, voice) = (try facts("cam"), try facts("voice"))
        #expect(camera.map(\.frames) == [31, 19])
        #expect(camera.map { $0.position?.programStart } == [.zero, time])
        let starts = voice.compactMap { $0.position?.programStart }
        #expect(starts.count == 2 && starts[1] >= time && starts[1] < time + .milliseconds(22))
        let runs = Set((camera + voice).compactMap { $0.position?.run })
        #expect(runs.count == 2, "each source has a run of its own")
        #expect(recordings.statuses.map(\.source) == ["cam", "voice"])
        for status in recordings.statuses {
            #expect(status.recorder?.state == .stopped && status.failure == nil)
            #expect(status.droppedFrames == 0 && status.coding == .encoded)
        }
    }

    @Test("Recordings that join a running program begin together ten frames later, where the program has a keyframe")
    func joins() throws {
        let recordings = make()
        let start = Mutex(ProgramInstant.zero)
        try play { [group] in start.withLock { $0 = recordings.start(joinsRunningProgram: true, in: group) } }
        try finish(recordings)
        let time = Self.rate.start(of: 31)
        #expect(start.withLock { $0 } == time && requests.all == [time])
        #expect(try facts("cam").map(\.frames) == [19])
        #expect(try facts("cam").first?.position?.programStart == time)
        let voice = try #require(try facts("voice").first?.position?.programStart)
        #expect(voice >= time - .milliseconds(1) && voice < time + .milliseconds(22))
    }

    @Test("A keyframe request without a time affects only the program; one with a time ends all sources' files")
    func requested() throws {
        let recordings = make()
        _ = recordings.start(joinsRunningProgram: false, in: group)
        recordings.requestKeyframe(at: nil)
        recordings.requestKeyframe(at: Self.rate.start(of: 25))
        try play {}
        try finish(recordings)
        #expect(requests.all == [nil, Self.rate.start(of: 25)])
        #expect(try facts("cam").map(\.frames) == [25, 25])
        #expect(try facts("voice").count == 2)
    }

    @Test("Sources that cannot be recorded are left out, and their status says why")
    func refused() throws {
        try place.write("a file".utf8, to: "file")
        let recordings = make(in: "file")
        _ = recordings.start(joinsRunningProgram: false, in: group)
        try play {}
        try finish(recordings)
        #expect(recordings.statuses.map(\.source) == ["cam", "voice"])
        for status in recordings.statuses {
            #expect(status.failure?.contains("Recording is not possible") == true && status.coding == .waiting)
            #expect(status.recorder?.state == .failed && status.recorder?.lastError == status.failure)
        }
        #expect(!recordings.perform(.retryAll, of: nil) && place.files == ["file"])
    }

    @Test("Recordings of sources need the bitrate of all together, and keep more space free than the program's")
    func budget() {
        let program = StorageBudget(
            videoBitrate: 1_000_000, audioBitrate: 0, duration: .seconds(60), reserve: ByteSize(bytes: 100_000_000))
        let shared = program.shared(by: 3)
        #expect(shared.bitrate == 3_000_000 && shared.reserveBytes == 200_000_000)
        var small = program
        small.configuredReserve = 1000
        // Twice such a small reserve would be used up before old files are deleted.
        var all = small
        all.bitrate = 3_000_000
        #expect(small.shared(by: 3).reserveBytes == all.retentionGoalBytes && all.retentionGoalBytes > 2000)
        var huge = program
        (huge.bitrate, huge.configuredReserve) = (.max, .max)
        #expect(huge.shared(by: 2).bitrate == .max && huge.shared(by: 2).reserveBytes == .max)
    }
}
