// SPDX-License-Identifier: Apache-2.0

internal import Control
import Encoder
import Foundation
import Ingest
import Media
import Publisher
import Status
import Testing

@testable import FanOut
@testable import Program
@testable import Relay
@testable import SRT
@testable import Segmenter

@Suite("Status lines")
struct StatusBlockTests {
    private func status(frames: Int64, bytes: Int64 = 0) -> ChannelStatus {
        var status = ChannelStatus(
            sources: [], feed: FeedStatus(), program: ProgramStatus(), encoder: EncoderStatus(),
            frameRate: FrameRate(30000, 1001), outputs: [])
        status.program.frames = frames
        status.encoder.bytes = bytes
        return status
    }

    private func output(_ state: OutputState.Name, detail: String? = nil) -> OutputStatus {
        OutputStatus(
            name: "rtmp-1", kind: OutputKind.rtmp.name, address: "rtmp://host/live/ke***", state: state, detail: detail,
            liveSeconds: 0, bytes: 0, frames: 0, reconnects: 0, attempts: 1, queue: QueueStatus(),
            details: OutputDetails(),
            wasLive: true, endpoint: .primary)
    }

    private func lines(_ now: ChannelStatus, before: ChannelStatus? = nil, interval: Double = 0) -> [String] {
        StatusBlock(now: now, before: before, interval: interval).lines
    }

    @Test("A recorder for clips has a status line with the reason if it is suspended, and no line while it is stopped")
    func clips() {
        var now = status(frames: 1)
        now.clipsRecorder = RecorderStatus()
        now.clipsRecorder?.state = .suspended
        now.clipsRecorder?.suspension = "the disk is full"
        #expect(lines(now).last == "clips     suspended    the disk is full")
        now.clipsRecorder?.state = .stopped
        #expect(lines(now).count == 1)
    }

    @Test("A run-down has a status line with its position, its remaining time, and the next segment")
    func runDown() {
        var now = status(frames: 1)
        var runDown = RunDownStatus(name: "show", state: .running, loops: false, rounds: 0, lateFrames: 0)
        runDown.current = .init(
            index: 1, name: "talk", view: "cam1", frame: 30, elapsedSeconds: 1, remainingSeconds: 61)
        runDown.next = .init(index: 2, name: "outro", isReady: false)
        runDown.remainingSeconds = 65
        now.runDown = runDown
        #expect(
            lines(now).last
                == "run-down  running      talk (2)  00:01:01 left  then outro, which is being opened  00:01:05 in all")
        (runDown.state, runDown.failure) = (.over, "gone.mp4")
        (runDown.current, runDown.next, runDown.remainingSeconds) = (nil, nil, nil)
        now.runDown = runDown
        #expect(lines(now).last == "run-down  over         gone.mp4")
    }

    @Test("The program's status line has its time, and its frame and bit rates since the previous snapshot")
    func program() {
        // An hour and a second at 29.97 fps, and 500 kB in two seconds.
        var now = status(frames: 107_923, bytes: 1_500_000)
        now.encoder.callerSeconds = 360
        now.program.skippedFrames = 3
        now.feed.framesRepeated = 2
        var before = status(frames: 107_863, bytes: 1_000_000)
        before.encoder.callerSeconds = 359.8
        let line = lines(now, before: before, interval: 2)[0]
        #expect(line == "01:00:01  30.0 fps  encoder 10.0x  2000 kbit/s  repeated 2  dropped 3")
    }

    @Test("In the first status lines, without earlier values, the rates are 0")
    func first() {
        #expect(lines(status(frames: 0)) == ["00:00:00  0.0 fps  encoder 0.0x  0 kbit/s  repeated 0  dropped 0"])
    }

    @Test("A channel's status is encoded to JSON and decoded unchanged")
    func json() throws {
        var before = status(frames: 30, bytes: 7)
        before.outputs = [output(.live)]
        before.recorder = RecorderStatus()
        let data = try JSONEncoder().encode(before)
        let after = try JSONDecoder().decode(ChannelStatus.self, from: data)
        #expect(lines(after) == lines(before))
    }

    @Test("The program's status line has the sum of all sources' decode errors if it is above 0")
    func decodeErrors() {
        var now = status(frames: 30)
        now.sources = [SourceStatus(), SourceStatus()]
        #expect(!lines(now)[0].contains("decode errors"))
        now.sources[0].decodeErrors = 7
        now.sources[1].decodeErrors = 5
        now.program.lagSeconds = 2.26
        #expect(lines(now)[0].hasSuffix("dropped 0  decode errors 12  2.3 s BEHIND"))
    }

    @Test("The program's status line contains an SRT input's round trip time and its missing packets")
    func inputBySRT() {
        var source = SourceStatus()
        source.srt = SRTInputStatistics()
        var now = status(frames: 30)
        now.sources = [source]
        #expect(!lines(now)[0].contains("input"))
        source.srt?.moment = SRTInputStatistics.Moment(
            roundTripMilliseconds: 12.34, receiveRate: 4, bandwidth: 90, bufferMilliseconds: 200, bufferPackets: 90,
            bufferFreeBytes: 1, latencyMilliseconds: 200)
        source.srt?.totals.packetsDropped = 7
        now.sources = [source]
        #expect(lines(now)[0].contains("input rtt 12.3 ms  input missing 7 packets"))
    }

    @Test("The status line of a program that falls behind real time shows how far it is behind")
    func lag() {
        var now = status(frames: 30)
        now.program.lagSeconds = 2.26
        #expect(lines(now)[0].hasSuffix("2.3 s BEHIND"))
        now.program.lagSeconds = 0.5
        #expect(!lines(now)[0].contains("BEHIND"))
        now.program.lagSeconds = .infinity
        #expect(lines(now)[0].contains("BEHIND"))
    }

    @Test("The status line of an output shows its queue while on air, and otherwise the reason")
    func outputs() {
        var now = status(frames: 0)
        var live = output(.live)
        live.queue.milliseconds = 40
        live.queue.droppedFrames = 7
        live.reconnects = 2
        live.details.connectionRoundTrip = 12.34
        now.outputs = [
            live, output(.backingOff, detail: "connection refused"),
            output(.waiting, detail: "waiting for a caller"),
        ]
        let all = lines(now)
        #expect(all[3] == "rtmp-1    waiting for a caller")
        #expect(all[1] == "rtmp-1    live         queue 40 ms  rtt 12.3 ms  dropped 7  reconnects 2")
        #expect(all[2] == "rtmp-1    backing_off  connection refused")
    }

    @Test("The summary at the end has each output's frames, dropped frames and keyframe requests")
    func summary() {
        var now = status(frames: 30)
        var live = output(.live)
        live.frames = 30
        now.outputs = [live]
        #expect(StatusBlock(now: now, before: nil, interval: 0).summary.hasSuffix("rtmp-1: 30 frames, 0 B"))
        now.outputs[0].queue.droppedFrames = 7
        now.outputs[0].keyframesRequested = 2
        #expect(
            StatusBlock(now: now, before: nil, interval: 0).summary
                .hasSuffix("rtmp-1: 30 frames, 0 B, 7 dropped, 2 keyframes requested"))
    }

    @Test("The status line of a recording has its file and the time until the disk is full")
    func recording() {
        var now = status(frames: 0)
        var recorder = RecorderStatus()
        recorder.state = .recording
        recorder.fileName = "relay.part"
        recorder.segmentsFinished = 2
        recorder.segmentSeconds = 61.5
        recorder.segmentBytes = 3_600_000
        recorder.gapCount = 1
        now.recorder = recorder
        now.storage = StorageStatus(
            state: .warning, freeBytes: 5_000_000_000, requiredBytes: 0, reserveBytes: 0, secondsUntilFull: 1800,
            directory: "d", reason: nil, ageSeconds: 0)
        #expect(
            lines(now)[1]
                == "record    recording    file 3  00:01:01  3.6 MB  gaps 1  disk warning, full in 00:30:00")
        now.storage?.secondsUntilFull = 1e300
        #expect(lines(now)[1].hasSuffix("not full for days"))
        now.storage?.secondsUntilFull = nil
        #expect(lines(now)[1].hasSuffix("5.0 GB free"))
        now.retention = RetentionStatus(files: 12, bytes: 3_400_000_000)
        #expect(lines(now)[1].hasSuffix("keeps 12 files, 3.4 GB"))
        now.recorder?.suspension = "no space"
        #expect(lines(now)[1].hasSuffix("no space"))
    }

    @Test("The recording in a second directory has a status line and totals of its own, which name the directory")
    func secondRecording() {
        var now = status(frames: 0)
        now.recorder = RecorderStatus()
        var recorder = RecorderStatus()
        (recorder.state, recorder.lastError) = (.failed, "no disk")
        now.secondRecording = SecondRecordingStatus(directory: "/mnt/b", RecordingStatus(recorder: recorder))
        #expect(lines(now)[1].hasPrefix("record    waiting"))
        #expect(lines(now)[2] == "also      failed       in /mnt/b  no disk")
        let summary = StatusBlock(now: now, before: nil, interval: 0).summary
        #expect(summary.hasSuffix("recorded in /mnt/b: 0 frames, 0 files, 0 B, 0 frames in 0 gaps"))
        #expect(summary.contains(" | recorded: 0 frames"))
        now.secondRecording = nil
        #expect(lines(now).count == 2)
    }

    @Test("In the log the status is a single line with the content of all status lines")
    func line() {
        var now = status(frames: 0)
        now.outputs = [output(.live)]
        let line = StatusBlock(now: now, before: nil, interval: 0).line
        #expect(line.contains("dropped 0 | rtmp-1 live queue 0 ms"))
        #expect(!line.contains("\n") && !line.contains("  "))
    }
}
