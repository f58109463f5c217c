// SPDX-License-Identifier: Apache-2.0

import Archive
import Encoder
import Foundation
import Ingest
import Media
import Program
import Status
import TestSupport
import Testing
import Upload

@testable import FanOut
@testable import Monitor
@testable import Segmenter

@Suite struct ChannelReportTests {
    private func output(_ name: String, _ state: OutputState.Name = .live) -> OutputStatus {
        OutputStatus(
            name: name, kind: OutputKindName(rawValue: "srt"), address: "srt://host:9000?passphrase=***", state: state,
            detail: nil, liveSeconds: 1.5, bytes: 1000, frames: 25, reconnects: 2, attempts: 3, queue: QueueStatus(),
            details: OutputDetails(), wasLive: true, endpoint: .primary)
    }

    /// Returns the status of a channel in which every property has a value and nothing is wrong.
    private func anyStatus() -> ChannelStatus {
        var status = ChannelStatus(
            sources: [SourceStatus(), SourceStatus()],
            selection: SelectionStatus(
                onAir: "cam1", number: 0, reason: "it is preferred", switches: 3, inputs: ["cam1", "cam2"],
                open: ["cam1"]),
            feed: FeedStatus(), audioFeed: FeedStatus(), program: ProgramStatus(), encoder: EncoderStatus(),
            frameRate: FrameRate(25), outputs: [output("one"), output("two"), output("three")],
            passthrough: PassthroughStatus())
        for index in status.sources.indices { status.sources[index].state = .running }
        status.parts = [
            PartStatus(name: "one", isOnAir: true, selection: status.selection, levels: [-12.5, -60]),
            PartStatus(name: "two", isOnAir: false, selection: nil),
        ]
        status.runDown = RunDownStatus(name: "show", state: .idle, loops: false, rounds: 0, lateFrames: 0)
        status.renditions = [
            RenditionStatus(name: "low", width: 640, height: 360, encoder: EncoderStatus(), droppedFrames: 0)
        ]
        var recorder = RecorderStatus()
        recorder.state = .recording
        status.recorder = recorder
        status.clipsRecorder = recorder
        status.recordedRendition = "low"
        status.storage = StorageStatus(
            state: .ok, freeBytes: 1 << 40, requiredBytes: 5, reserveBytes: 6, secondsUntilFull: 90.5, directory: "/",
            ageSeconds: 0.5)
        status.retention = RetentionStatus()
        status.upload = UploadStatus()
        status.secondRecording = SecondRecordingStatus(
            directory: "/second",
            RecordingStatus(
                recorder: recorder, storage: status.storage, retention: RetentionStatus(), upload: UploadStatus()))
        status.sourceRecordings = [
            SourceRecordingStatus(
                source: "one", recorder: recorder, storage: status.storage, encoder: EncoderStatus(), droppedFrames: 0,
                coding: .copied, retention: RetentionStatus(), upload: UploadStatus())
        ]
        status.monitor = MonitorStatus()
        status.monitor?.loudness = LoudnessStatus()
        status.monitor?.gain = -1.5
        status.monitor?.silence = AlarmStatus()
        status.monitor?.black = AlarmStatus()
        status.monitor?.frozen = AlarmStatus()
        return status
    }

    private func makeReport(_ status: ChannelStatus?, _ state: ChannelReport.State = .onAir) -> ChannelReport {
        var report = ChannelReport(name: "news", state: state, time: UTCTime(milliseconds: 1_795_269_790_123))
        report.status = status
        report.isRecordingWanted = true
        return report
    }

    private func full() -> ChannelReport {
        var report = makeReport(anyStatus())
        report.startedAt = UTCTime(milliseconds: 1_795_269_780_000)
        report.programSeconds = 10.5
        report.tracks = StreamDescription(
            video: TrackDescription(
                format: VideoFormat(width: 320, height: 180, frameRate: FrameRate(25)),
                decoderConfiguration: SharedBytes([1, 100, 0, 31, 255]), bitrate: 500_000, reorderDepth: 0,
                encoderSettings: ""),
            audio: TrackDescription(
                format: .program, decoderConfiguration: SharedBytes([0x11, 0x90]), bitrate: 128_000, frameLength: 1024))
        (report.canRecord, report.canClip, report.hasScenes) = (true, true, true)
        return report
    }

    // MARK: JSON

    @Test func `A full report of a channel has exactly the properties that the API's schema describes`() throws {
        let schema = try #require(try Schema("Channel"))
        let value = try JSONValue(full())
        #expect(schema.faults(in: value) == [])
        #expect(value.keys.subtracting(schema.properties) == [])
        #expect(schema.properties.subtracting(value.keys) == [])
        #expect(value.hasNoNull)
    }

    @Test(arguments: ChannelReport.State.allCases)
    func `A report of a channel without a program has only the required properties`(state: ChannelReport.State) throws {
        let schema = try #require(try Schema("Channel"))
        let value = try JSONValue(ChannelReport(name: "a \"b\"", state: state, time: UTCTime(milliseconds: 0)))
        #expect(schema.faults(in: value) == [])
        #expect(value["name"] == .text("a \"b\"") && value["time"] == .text("1970-01-01T00:00:00.000Z"))
        #expect(value["state"]?.string == state.rawValue && value.hasNoNull)
        #expect(
            value.keys == [
                "name", "state", "time", "isOnAir", "isRecording", "problems", "isRecordingWanted", "canRecord",
                "canClip", "hasScenes",
            ])
    }

    @Test
    func `The API's schema lists all states of channels, outputs and sources, and no other channel states`() throws {
        #expect(try Schema("ChannelState")?.words.sorted() == ChannelReport.State.allCases.map(\.rawValue).sorted())
        for name in OutputState.Name.allCases {
            let value = try JSONValue(output("one", name))
            #expect(try Schema("Output")?.faults(in: value) == [], "\(name)")
        }
        for state in SourceStatus.State.allCases {
            var status = anyStatus()
            status.sources[0].state = state
            #expect(try Schema("Channel")?.faults(in: JSONValue(makeReport(status))) == [], "\(state)")
        }
        for state in [RecorderState.waiting, .recording, .suspended, .failed, .stopped] {
            var status = anyStatus()
            status.recorder?.state = state
            #expect(try Schema("Channel")?.faults(in: JSONValue(makeReport(status))) == [], "\(state)")
        }
    }

    @Test func `A channel's status is decoded as it was encoded`() throws {
        let bytes = try JSONValue.bytes(of: anyStatus())
        let read = try JSONDecoder().decode(ChannelStatus.self, from: bytes)
        #expect(try JSONValue.bytes(of: read) == bytes)
        let sparse = ChannelStatus(
            sources: [], feed: FeedStatus(), program: ProgramStatus(), encoder: EncoderStatus(),
            frameRate: FrameRate(25))
        let plain = try JSONValue.bytes(of: sparse)
        #expect(try JSONValue.bytes(of: JSONDecoder().decode(ChannelStatus.self, from: plain)) == plain)
    }

    @Test func `Values that are only for metrics and meters are not in a report's JSON`() throws {
        var report = full()
        report.certificateExpiry = 4_102_444_800
        report.heardLevels = ["hidden microphone": [-20, -20]]
        let text = String(decoding: try JSONValue.bytes(of: report), as: UTF8.self)
        #expect(!text.contains("4102444800") && !text.contains("hidden microphone"))
    }

    // MARK: Problems

    /// Changes to a report that cause one problem each, with a description.
    private static let faults: [(name: String, make: @Sendable (inout ChannelStatus) -> Void)] = [
        ("a source is waited for", { $0.sources[0].state = .waiting }),
        ("a source failed", { $0.sources[1].state = .failed }),
        ("an output waits for its next attempt", { $0.outputs[0].state = .backingOff }),
        ("an output was refused", { $0.outputs[1].state = .refused }),
        ("an output was given up", { $0.outputs[2].state = .givenUp }),
        ("silence", { $0.monitor?.silence?.isActive = true }),
        ("black", { $0.monitor?.black?.isActive = true }),
        ("frozen video", { $0.monitor?.frozen?.isActive = true }),
        ("the recording failed", { $0.recorder?.state = .failed }),
        ("the recording in the second directory failed", { $0.secondRecording?.recorder?.state = .failed }),
        ("the recording of a source is suspended", { $0.sourceRecordings?[0].recorder?.state = .suspended }),
        ("the recording for clips failed", { $0.clipsRecorder?.state = .failed }),
        ("the disk is getting full", { $0.storage?.state = .warning }),
        ("the disk of the second directory is full", { $0.secondRecording?.storage?.state = .stopped }),
        ("a rendition's encoder failed", { $0.renditions?[0].failure = "it failed" }),
        ("an upload fails", { $0.upload?.failingFiles = 3 }),
        ("an upload from the second directory fails", { $0.secondRecording?.upload?.failingFiles = 2 }),
        ("a source's upload fails", { $0.sourceRecordings?[0].upload?.failingFiles = 1 }),
    ]

    @Test func `Each fault of a channel counts as one problem, alone or together with others`() {
        #expect(makeReport(anyStatus()).problems == 0)
        for (name, make) in Self.faults {
            var status = anyStatus()
            make(&status)
            #expect(makeReport(status).problems == 1, "\(name)")
        }
        var random = SeededRandom()
        for _ in 0..<200 {
            let chosen = Self.faults.filter { _ in Bool.random(using: &random) }
            var status = anyStatus()
            for fault in chosen { fault.make(&status) }
            #expect(makeReport(status).problems == chosen.count, "\(chosen.map(\.name))")
        }
    }

    @Test func `A recording that is not wanted, a paused or stopped output and an ended source are not problems`() {
        var status = anyStatus()
        status.recorder?.state = .failed
        status.secondRecording?.recorder?.state = .failed
        status.sourceRecordings?[0].recorder?.state = .failed
        var report = makeReport(status)
        #expect(report.problems == 3)
        report.isRecordingWanted = false
        #expect(report.problems == 0)
        // Outputs that are paused or have ended, and sources that have ended, are not problems.
        for state in [OutputState.Name.paused, .stopped, .idle, .connecting, .waiting, .draining] {
            report.status?.outputs[0].state = state
            #expect(report.problems == 0, "\(state)")
        }
        report.status?.sources[0].state = .ended
        #expect(report.problems == 0)
    }

    @Test func `A channel without a program counts as one problem, unless the channel has ended`() {
        for state in ChannelReport.State.allCases {
            #expect(makeReport(nil, state).problems == (state == .over ? 0 : 1))
            #expect(!makeReport(nil, state).isOnAir && !makeReport(nil, state).isRecording)
        }
    }

    @Test func `A channel is on air while an output is live, and recording while one of its recorders records`() {
        var report = makeReport(anyStatus())
        #expect(report.isOnAir && report.isRecording)
        for index in 0..<3 { report.status?.outputs[index].state = .connecting }
        report.status?.recorder?.state = .waiting
        #expect(!report.isOnAir && report.isRecording)
        report.status?.secondRecording?.recorder?.state = .failed
        #expect(!report.isOnAir && !report.isRecording)
        report.status?.outputs[2].state = .live
        #expect(report.isOnAir)
    }

    // MARK: Tracks

    @Test func `A track's status has the codec string for browsers if one is known`() throws {
        func name(_ track: TrackDescription) throws -> JSONValue? {
            var report = makeReport(nil)
            report.tracks =
                track.kind == .video ? StreamDescription(video: track) : StreamDescription(audio: track)
            return try JSONValue(report)[track.kind.rawValue]?["codecString"]
        }
        func video(_ codec: Codec, _ bytes: [UInt8]) -> TrackDescription {
            TrackDescription(
                video: codec, frames: FrameFormat(width: 1280, height: 720), timeBase: .mpegTS,
                decoderConfiguration: SharedBytes(bytes))
        }
        func audio(_ codec: Codec, _ bytes: [UInt8]) -> TrackDescription {
            TrackDescription(audio: codec, format: .program, decoderConfiguration: SharedBytes(bytes))
        }
        #expect(try name(video(.h264, [1, 0x64, 0, 0x1F, 0xFF])) == .text("avc1.64001f"))
        #expect(try name(video(.h264, [1, 0x42, 0xC0, 0x0A])) == .text("avc1.42c00a"))
        for bytes: [UInt8] in [[], [1], [1, 0x64, 0]] { #expect(try name(video(.h264, bytes)) == nil) }
        #expect(try name(video(.hevc, [])) == .text("hvc1"))
        #expect(try name(video(.av1, [])) == .text("av01"))
        #expect(try name(audio(.aac, [0x11, 0x90])) == .text("mp4a.40.2"))
        #expect(try name(audio(.aac, [0x2B, 0x11])) == .text("mp4a.40.5"))
        #expect(try name(audio(.aac, [])) == .text("mp4a.40.2"))
        #expect(try name(audio(.aac, [0xF8, 0])) == .text("mp4a.40.2"), "a type behind an escape is not read")
        #expect(try name(audio(.mp3, [])) == .text("mp4a.6b"))
        #expect(try name(audio(.opus, [])) == .text("opus"))
        #expect(try name(audio(.ac3, [])) == .text("ac-3"))
    }
}
