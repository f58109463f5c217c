// SPDX-License-Identifier: Apache-2.0

import Archive
import Encoder
import Foundation
import Media
import Program
import Segmenter
import Status
import TestSupport
import Testing

@Suite struct StatusValueTests {
    // MARK: Run-downs

    /// Returns `value` or nil, each with the same probability.
    private func maybe<Value>(_ value: Value, _ random: inout SeededRandom) -> Value? {
        Bool.random(using: &random) ? value : nil
    }

    private func runDown(_ random: inout SeededRandom) -> RunDownStatus {
        let words = ["", "cam 1", "é\u{1F3A5}", "a\"b\\c", "line\nbreak"]
        let times: [Double] = [0, 0.04, 1.5, 1e9, 123.456]
        let states: [RunDownStatus.State] = [.idle, .running, .held, .over]
        let (word, other, time) = (random.pick(words), random.pick(words), random.pick(times))
        let change = RunDownStatus.Change(type: "fade", seconds: time, name: maybe(word, &random))
        let segment = RunDownStatus.Segment(
            name: word, views: words, seconds: maybe(time, &random), until: maybe("take", &random), transition: change)
        let current = RunDownStatus.Current(
            index: 3, name: word, view: other, frame: .max, elapsedSeconds: time,
            remainingSeconds: maybe(time, &random))
        let next = RunDownStatus.Next(
            index: 0, name: other, frame: maybe(Int64(1) << 50, &random), isReady: maybe(false, &random))
        var status = RunDownStatus(
            name: word, state: random.pick(states), loops: Bool.random(using: &random), rounds: .max, lateFrames: 5)
        status.current = maybe(current, &random)
        status.next = maybe(next, &random)
        status.remainingSeconds = maybe(time, &random)
        status.isCutAway = maybe(true, &random)
        status.follows = maybe(7, &random)
        status.failure = maybe(other, &random)
        status.segments = maybe([segment, segment], &random)
        return status
    }

    @Test func `A run-down's status is decoded as it was encoded, fits its schema and omits unknown values`() throws {
        var random = SeededRandom()
        let schema = try #require(try Schema("Rundown"))
        for _ in 0..<300 {
            let written = runDown(&random)
            let bytes = try JSONValue.bytes(of: written)
            #expect(try JSONDecoder().decode(RunDownStatus.self, from: bytes) == written)
            let value = try JSONValue(written)
            #expect(value.hasNoNull && value.keys.isSubset(of: schema.properties))
            #expect(schema.faults(in: value).filter { !$0.contains("transition") } == [])
        }
    }

    // MARK: Passing through

    @Test func `Copied packets, frames and bytes are counted in any order of arrival`() {
        var random = SeededRandom()
        let video = TrackDescription(
            format: VideoFormat(width: 320, height: 180, frameRate: FrameRate(25)),
            decoderConfiguration: SharedBytes([]),
            bitrate: 0, reorderDepth: 0, encoderSettings: "")
        let audio = TrackDescription(
            format: .program, decoderConfiguration: SharedBytes([]), bitrate: 0, frameLength: 1024)
        var status = PassthroughStatus()
        var (packets, frames, bytes, latest): (Int64, Int64, Int64, ProgramInstant) = (0, 0, 0, .zero)
        for _ in 0..<1000 {
            let track = random.pick([video, audio])
            let size = Int.random(in: 0...300, using: &random)
            // Audio packets can have times before the program's start, because the encoder adds priming samples.
            let dts = Int64.random(in: -2...100_000, using: &random)
            let packet = EncodedPacket(
                of: track, pts: dts, dts: dts, duration: 1, isKeyframe: true,
                payload: SharedBytes([UInt8](repeating: 1, count: size)))
            status.count(packet)
            packets += 1
            frames += track === video ? 1 : 0
            bytes += Int64(size)
            latest = max(latest, packet.programDts)
            #expect(status.packets == packets && status.frames == frames && status.bytes == bytes)
            #expect(status.programTime == latest)
        }
    }

    @Test func `The program's time is that of its copied packets, or else of its frames`() {
        let rates: [(FrameRate, ProgramInstant)] = [
            (FrameRate(25), 3_000_000_000), (FrameRate(30_000, 1001), 2_502_500_000),
        ]
        for (rate, time) in rates {
            var program = ProgramStatus()
            var status = ChannelStatus(
                sources: [], feed: FeedStatus(), program: program, encoder: EncoderStatus(), frameRate: rate)
            #expect(status.programTime == 0)
            // Skipped frames count as part of the program, too.
            (program.frames, program.skippedFrames) = (50, 25)
            status.program = program
            #expect(status.programTime == time)
            // A program that is passed through has no frames of its own, and its time is 0 before its first packet.
            var passthrough = PassthroughStatus()
            status.passthrough = passthrough
            #expect(status.programTime == 0)
            passthrough.programTime = 77
            status.passthrough = passthrough
            #expect(status.programTime == 77)
        }
    }

    @Test func `The time of copied packets is nanoseconds in JSON, and all counts have the names of their properties`()
        throws
    {
        var status = PassthroughStatus()
        status.programTime = 1_234_567_890
        let value = try JSONValue(status)
        #expect(value["programNanoseconds"] == .number(1_234_567_890))
        #expect(
            value.keys == [
                "packets", "frames", "bytes", "programNanoseconds", "undecodableFrames", "movedPackets",
                "transcodingErrors", "skippedPackets",
            ])
        let read = try JSONDecoder().decode(PassthroughStatus.self, from: JSONValue.bytes(of: status))
        #expect(read.programTime == status.programTime)
    }

    @Test func `The status of a source has the frame counts that the program keeps for that source`() {
        var feed = FeedStatus()
        (feed.framesRepeated, feed.framesLate, feed.framesDropped) = (3, 2, 1)
        let part = PartStatus(name: "one", isOnAir: true, selection: nil, feed: feed, levels: [-6])
        #expect(part.framesRepeated == 3 && part.framesLate == 2 && part.framesDropped == 1 && part.levels == [-6])
    }

    @Test func `A recording counts as having recorded only once its recorder has written media`() {
        #expect(!RecordingStatus().hasRecorded)
        var recorder = RecorderStatus()
        (recorder.state, recorder.fileName, recorder.segmentBytes) = (.recording, "a.mp4", 4096)
        #expect(!RecordingStatus(recorder: recorder).hasRecorded, "a header alone is no media")
        recorder.hasMedia = true
        #expect(RecordingStatus(recorder: recorder).hasRecorded)
        // Data on the disk stays there when the recorder fails or ends.
        recorder.fail(because: "its encoder failed")
        #expect(RecordingStatus(recorder: recorder).hasRecorded && recorder.state == .failed)
        recorder.state = .stopped
        #expect(RecordingStatus(recorder: recorder).hasRecorded)
    }

    // MARK: Events

    private func makeEvent(_ number: Int) -> ControlEvent {
        ControlEvent(
            time: UTCTime(milliseconds: 0), channel: nil, level: .info, kind: .output, text: "event \(number)")
    }

    @Test func `Each reader gets every event once and in order, or can tell that it missed some`() {
        var random = SeededRandom()
        for _ in 0..<20 {
            let start = Int64.random(in: 1...2_000_000_000_000, using: &random)
            let log = EventLog(startedAt: UTCTime(milliseconds: start))
            let beginning = UInt64(start) * 1000
            var readers = [UInt64](repeating: beginning, count: 4)
            var added = beginning
            for _ in 0..<200 {
                let new = random.pick([0, 1, 2, 10, 90, 600])
                for number in 0..<new { log.append(makeEvent(number)) }
                added += UInt64(new)
                #expect(log.last == (added > beginning ? added : 0))
                let reader = Int.random(in: readers.indices, using: &random)
                let (events, missed) = log.batch(after: readers[reader])
                let ids = events.map(\.id)
                #expect(zip(ids, ids.dropFirst()).allSatisfy { $1 == $0 + 1 })
                #expect(events.count == min(EventLog.limit, Int(added - readers[reader])))
                #expect(UInt64(events.count) + missed == added - readers[reader])
                #expect(ids.last ?? readers[reader] == added)
                readers[reader] = added
            }
            #expect(log.events(after: added).isEmpty)
            for other in [0, beginning - 1, added + 1, .max] {
                let (events, missed) = log.batch(after: other)
                #expect(events.count == min(EventLog.limit, Int(added - beginning)), "another run's number")
                #expect(UInt64(events.count) + missed == added - beginning)
            }
        }
    }

    @Test func `Events of many threads are numbered without a gap`() async {
        let log = EventLog(startedAt: UTCTime(milliseconds: 1))
        let event = makeEvent(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { for _ in 0..<50 { log.append(event) } } }
        }
        #expect(log.events(after: 0).map(\.id) == Array(1001...1400))
    }

    @Test func `An event's JSON has only the values that are known, and its time in ISO 8601 format`() throws {
        var event = ControlEvent(
            time: UTCTime(milliseconds: 1_795_269_790_123), channel: nil, level: .warning, kind: .relay,
            text: "a\n\"b\"")
        #expect(
            try JSONValue(event)
                == .object([
                    "id": .number(0), "time": .text("2026-11-21T14:03:10.123Z"), "level": .text("warning"),
                    "kind": .text("relay"), "text": .text("a\n\"b\""),
                ]))
        (event.channel, event.output, event.id) = ("main", "youtube", 7)
        let value = try JSONValue(event)
        #expect(value["channel"] == .text("main") && value["output"] == .text("youtube") && value["id"] == .number(7))
        #expect(
            !String(decoding: try JSONValue.bytes(of: event), as: UTF8.self).contains("\n"), "streams need one line")
    }
}
