// SPDX-License-Identifier: Apache-2.0

import FanOut
import Foundation
import MP4
import Media
import TestSupport
import Testing

@testable import Archive
@testable import Segmenter

/// Recordings of programs in which one track or both tracks are missing, for a while or to the end.
@Suite struct SilentTrackTests {
    private static let rate = FrameRate(25)
    private static func seconds(_ count: Int) -> ProgramInstant { .zero + .seconds(count) }

    /// A program with missing packets.
    struct Case: CustomTestStringConvertible {
        struct Gap {
            var tracks: Set<TrackKind>
            /// The start and the length of the gap, in seconds of program time.
            var start: Double
            var length: Double
        }

        var gaps: [Gap]
        var hasReordering = false
        var testDescription: String {
            gaps.map { "\($0.tracks.map(\.rawValue).sorted()) from \($0.start) s for \($0.length) s" }.joined(
                separator: ", ")
        }

        /// Packets in order of decoding time: 25 frames per second with a keyframe each second, and audio, until 4 s
        /// after the gaps.
        var packets: [EncodedPacket] {
            let frames = 25 * Int64(4 + (gaps.map { $0.start + $0.length }.max() ?? 0))
            var packets = (0..<frames).map { index in
                // The frame types are I P B B P B B …
                let place = index % 25
                let shown = place == 0 ? index : place % 3 == 1 ? index + 2 : index - 1
                return videoPacket(
                    hasReordering ? shown : index, decodedAt: index - 2, rate: rate, isKeyframe: index % 25 == 0)
            }
            packets += (-1..<frames * 1920 / 1024).map { audioPacket($0) }
            return packets.filter { packet in
                let time = (packet.programDts - .zero).inSeconds
                return !gaps.contains {
                    $0.tracks.contains(packet.track) && time >= $0.start && time < $0.start + $0.length
                }
            }.sorted { ($0.programDts, $0.track.rawValue) < ($1.programDts, $1.track.rawValue) }
        }
    }

    /// Gaps that begin anywhere in a GOP; the same in each run.
    static let gaps: [Case] = {
        var generator = SeededRandom(seed: 29)
        let kinds: [Set<TrackKind>] = [[.video, .audio], [.video], [.audio]]
        var cases = kinds.flatMap { kind in
            [0.1, 0.5, 2, 16].map { length in
                Case(gaps: [.init(tracks: kind, start: .random(in: 2...4, using: &generator), length: length)])
            }
        }
        for number in 0..<6 {
            let gaps = (0..<2).map { index in
                Case.Gap(
                    tracks: kinds[.random(in: 0..<3, using: &generator)],
                    start: .random(in: 2...4, using: &generator) + 20 * Double(index),
                    length: .random(in: 0.1...16, using: &generator))
            }
            cases.append(Case(gaps: gaps, hasReordering: number % 2 == 0))
        }
        return cases
    }()

    /// Returns the sorted times of the packets of `track` in seconds, as ffprobe finds them.
    private func times(_ path: String, _ track: TrackKind) throws -> [Double] {
        try run(
            "ffprobe", "-v", "error", "-select_streams", track == .video ? "v" : "a", "-show_entries",
            "packet=pts_time", "-of", "csv=p=0", path
        ).output.split(whereSeparator: { "\n,".contains($0) }).compactMap { Double($0) }.sorted()
    }

    /// Checks that each packet of both tracks is at its own time in the file at `path`.
    private func expectTimes(_ path: String, of packets: [EncodedPacket], all: Bool) throws {
        for track in [TrackKind.video, .audio] {
            // Packets before the first frame are hidden.
            let sent = packets.filter { $0.track == track && $0.pts >= 0 }.map { ($0.programPts - .zero).inSeconds }
            let found = try times(path, track).filter { $0 > -0.01 }
            #expect(all ? found.count == sent.count : found.count > sent.count / 2)
            let worst = zip(found, sent.sorted()).map { abs($0 - $1) }.max()
            #expect((worst ?? 1) < 0.001, "\(track): \(worst ?? 1) s")
        }
    }

    @Test("After a gap in one track or in both, each packet of a recording has its own timestamp", arguments: gaps)
    func times(program: Case) throws {
        for format in [RecordFormat.hybrid, .fragmented] {
            let directory = try TemporaryDirectory()
            let recording = try Recording(
                description(rate: Self.rate), length: .duration(.seconds(3600)), directory: directory, format: format)
            recording.feed(program.packets)
            recording.recorder.waitUntilIdle()
            let open = try #require(directory.files.first { $0.hasSuffix(".part") })
            if !program.hasReordering { try expectTimes(directory.path(open), of: program.packets, all: false) }
            recording.finish()
            try expectTimes(try #require(recording.finished.first), of: program.packets, all: true)
        }
    }

    static let stopped: [Case] = [
        Case(gaps: [.init(tracks: [.video], start: 2, length: 40)]),
        Case(gaps: [.init(tracks: [.audio], start: 2, length: 40)]),
        Case(gaps: [.init(tracks: [.video], start: -1, length: 60)]),
        Case(gaps: [.init(tracks: [.audio], start: -1, length: 60)]),
    ]

    @Test(
        "If one track stops, a crash loses at most 0.6 s of the other track",
        arguments: stopped, RecordFormat.allCases)
    func crash(program: Case, format: RecordFormat) throws {
        let directory = try TemporaryDirectory()
        let packets = program.packets.filter { $0.programDts < Self.seconds(40) }
        let kinds = Set(packets.map(\.track))
        let stream = StreamDescription(
            video: kinds.contains(.video) ? videoTrack(rate: Self.rate) : nil,
            audio: kinds.contains(.audio) ? audioTrack : nil)
        let recording = try Recording(stream, length: .duration(.seconds(3600)), directory: directory, format: format)
        recording.feed(packets)
        recording.recorder.waitUntilIdle()
        let open = try #require(directory.files.first { $0.hasSuffix(".part") })
        let last = try #require(packets.last)
        let times = try times(directory.path(open), last.track)
        // The times in a transport stream do not begin at 0.
        let begun = times.first ?? 0
        #expect(begun < 4)
        let first = try #require(packets.first { $0.track == last.track && $0.pts >= 0 })
        let lost = (last.programPts - first.programPts).inSeconds - ((times.last ?? 0) - max(0, begun))
        #expect(lost <= 0.6, "\(lost) s are lost")
        recording.finish()
        #expect(recording.recorder.status.gapCount == 0)
    }

    @Test("A packet is written soon even if no packet follows it, also at one frame every 5 s")
    func lonely() throws {
        let directory = try TemporaryDirectory()
        let recording = try Recording(
            StreamDescription(video: videoTrack(rate: Self.rate)), length: .duration(.seconds(3600)),
            directory: directory)
        for frame in [Int64(0), 125, 250] {
            recording.recorder.accept([videoPacket(frame, rate: Self.rate, isKeyframe: frame == 0)])?.wake()
        }
        try eventually("all frames are on the disk") { recording.recorder.status.framesWritten == 3 }
        recording.finish()
        #expect(recording.recorder.status.framesWritten == 3)
    }

    @Test("Packets in the recorder's queue are written soon even if no packet follows them, however many they are")
    func many() throws {
        let directory = try TemporaryDirectory()
        let rate = FrameRate(1000)
        let recording = try Recording(
            StreamDescription(video: videoTrack(rate: rate)), length: .duration(.seconds(3600)), directory: directory)
        recording.recorder.accept([videoPacket(0, rate: rate, isKeyframe: true)])?.wake()
        recording.recorder.waitUntilIdle()
        // The end of the fragment, at 500 ms, never comes.
        for frame in Int64(1)..<400 {
            recording.recorder.accept([videoPacket(frame, rate: rate, isKeyframe: false)])?.wake()
        }
        try eventually("all frames are on the disk", within: .seconds(5)) {
            recording.recorder.status.framesWritten == 400
        }
        recording.finish()
    }

    /// Returns where files begin, in seconds; whether they begin with a frame; and their audio and frames.
    private func cut(
        _ packets: [EncodedPacket], _ cutter: some SegmentCutting
    ) -> [(start: Double, isVideo: Bool, audio: [Int64], frames: [Int64])] {
        var cutter = cutter
        var files: [(start: Double, isVideo: Bool, audio: [Int64], frames: [Int64])] = []
        for action in packets.flatMap({ cutter.push($0) }) + cutter.finish() {
            switch action {
            case .open(let start):
                files.append(((start.time - .zero).inSeconds, start.keyframe.track == .video, [], []))
            case .write(let packet):
                if packet.track == .video { files[files.count - 1].frames.append(packet.pts) }
                if packet.track == .audio { files[files.count - 1].audio.append(packet.pts) }
            default: break
            }
        }
        return files
    }

    @Test("A file whose video has stopped ends on time, or 10 s after its last frame, with all of its audio")
    func endsInTime() {
        let packets = Case(gaps: [.init(tracks: [.video], start: 6.5, length: 29)]).packets
        let files = cut(packets, SegmentCutter(length: .duration(.seconds(10)), stream: description(rate: Self.rate)))
        let expected = [(0, true), (16.48, false), (20, false), (30, false), (36, true)]
        #expect(files.count == expected.count)
        for (file, (start, isVideo)) in zip(files, expected) {
            #expect(abs(file.start - start) < 0.06 && file.isVideo == isVideo, "\(file.start)")
        }
        // One packet is hidden at the beginning of each file except the first.
        let audio = files.enumerated().flatMap { Array($1.audio.dropFirst($0 > 0 ? 1 : 0)) }
        #expect(audio == packets.filter { $0.track == .audio }.map(\.pts))
        let late = packets.filter { $0.track == .video && $0.programPts >= 35_500_000_000 && $0.pts < 900 }
        #expect(files.flatMap(\.frames).count == packets.count { $0.track == .video } - late.count)
    }

    @Test("A copied file whose video has stopped ends on time, or 10 s after its last frame, with all its audio")
    func copiedEndsInTime() {
        let packets = Case(gaps: [.init(tracks: [.video], start: 6.5, length: 29)]).packets
        var cutter = CopiedCutter()
        for cut in [10, 20, 30, 40] { cutter.cut(at: Self.seconds(cut)) }
        let files = cut(packets, cutter)
        #expect(files.map(\.isVideo) == [true, false, false, false, true])
        #expect(zip(files.map(\.start), [0, 16.48, 20, 30, 36]).allSatisfy { abs($0 - $1) < 0.06 })
        let audio = Set(files.flatMap(\.audio))
        #expect(audio == Set(packets.filter { $0.track == .audio }.map(\.pts)))
    }

    @Test(
        "Audio whose coding changes while no frames arrive is recorded completely",
        arguments: [[8], [7], [14], [8, 12], [7, 11, 19, 30]], [9.0, 29])
    func copiedRecoding(changes: [Int64], away: Double) {
        let tracks = [aacTrack(asc: [0x12, 0x10]), aacTrack(asc: [0x12, 0x90])]
        let packets = Case(gaps: [.init(tracks: [.video], start: 6.5, length: away)]).packets
        let end = Int64(6.5 + away)
        let sent = packets.map { packet in
            let count = changes.count { $0 <= end && packet.pts >= $0 * 48_000 }
            return packet.track == .audio && count > 0 ? packet.recoded(as: tracks[count % 2]) : packet
        }
        let files = cut(sent, CopiedCutter())
        let audio = Set(files.flatMap(\.audio))
        let expected = Set(packets.filter { $0.track == .audio }.map(\.pts))
        #expect(audio == expected, "\(expected.subtracting(audio).sorted())")
        // At most one audio packet ends before the start of its file: the hidden one.
        for file in files { #expect(file.audio.count { Double($0 + 1024) / 48_000 <= file.start } <= 1) }
        let starts = files.map(\.start)
        #expect(starts == starts.sorted() && files.first?.isVideo == true && files.last?.isVideo == true)
        #expect(files.count == changes.count { $0 <= end } + 2, "\(starts)")
    }

    @Test("After a fragment that was written because of a timeout, the next fragment has the full length")
    func fragments() throws {
        let start = UTCTime(milliseconds: 0)
        let directory = try TemporaryDirectory()
        let settings = SegmentFileSettings(
            directory: directory.path, name: SegmentName(channel: "c", start: start, sequence: 1),
            description: description(rate: Self.rate),
            tags: MovieTags(channel: "c", start: start, encoderSettings: ""), fragmentDuration: .milliseconds(500))
        let packets = Case(gaps: [], hasReordering: true).packets.filter { $0.track == .audio || $0.pts < 75 }
        let end = Self.rate.start(of: 75)
        let keyframe = try #require(packets.first { $0.track == .video })
        let parent = try FileDescriptor.open(directory: directory.path)
        let file = try SegmentFile(settings, in: parent, start: SegmentStart(keyframe: keyframe))
        let clock = ManualClock()
        var timed = 0
        for packet in packets where packet.programPts < end {
            // From the middle on, packets come 60 ms late whenever a fragment is full, so the timer fires before they
            // arrive.
            let phase = packet.programDts.nanoseconds % 500_000_000
            let isLate = packet.programDts > 1_500_000_000 && phase >= 380_000_000
            let arrival = packet.programDts + .milliseconds(isLate ? 200 : 60)
            clock.sleep(until: MonotonicInstant(nanoseconds: max(0, arrival.nanoseconds)))
            if file.wait(at: clock.now) == .zero {
                _ = try file.writePending(clock: clock)
                timed += 1
            }
            _ = try file.append(packet, clock: clock)
        }
        #expect(timed >= 2)
        try file.flush()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: directory.path(settings.name.open)))
        let fragments = bytes.indices.dropLast(3).count { bytes[$0..<$0 + 4].elementsEqual("moof".utf8) }
        let tracks = bytes.indices.dropLast(3).count { bytes[$0..<$0 + 4].elementsEqual("traf".utf8) }
        // The last fragment holds the audio of the last frames.
        #expect((6...7).contains(fragments) && tracks >= 2 * fragments - 1, "\(fragments), \(tracks)")
    }

    @Test("If both tracks have a gap at the end of a file, the next file does not begin with audio alone")
    func bothAtBoundary() {
        for first in [TrackKind.video, .audio] {
            var packets = Case(gaps: [.init(tracks: [.video, .audio], start: 8, length: 16)]).packets
            if first == .audio { packets.removeAll { $0.track == .video && $0.pts >= 200 && $0.pts < 625 } }
            let files = cut(
                packets, SegmentCutter(length: .duration(.seconds(10)), stream: description(rate: Self.rate)))
            #expect(files.allSatisfy { $0.isVideo })
        }
    }

    @Test("If audio stopped before a file begins, the file's frames are written without waiting for audio")
    func doesNotHold() {
        var cutter = SegmentCutter(length: .duration(.seconds(10)), stream: description(rate: Self.rate))
        var written: [Int64] = []
        let packets = Case(gaps: [.init(tracks: [.audio], start: 5, length: 30)]).packets
        for packet in packets where packet.track == .audio || packet.pts < 260 {
            for case .write(let packet) in cutter.push(packet) where packet.track == .video {
                written.append(packet.pts)
            }
        }
        #expect(written == Array(0..<260))
    }

    @Test("Files of a program whose video stopped are complete, and verification finds no error")
    func files() throws {
        let directory = try TemporaryDirectory()
        let recording = try Recording(
            description(rate: Self.rate), length: .duration(.seconds(10)), directory: directory)
        let program = Case(gaps: [.init(tracks: [.video], start: 6.5, length: 29)])
        recording.record(program.packets)
        let files = recording.finished.sorted()
        #expect(files.count == 5)
        let facts = try files.map { try SegmentReader.read($0) }
        #expect(facts.allSatisfy { $0.problems.isEmpty })
        let samples = facts.reduce(Int64(0)) { $0 + ($1.audio?.shown ?? 0) }
        let sent = program.packets.filter { $0.track == .audio && $0.pts >= 0 }.count * 1024
        #expect(abs(samples - Int64(sent)) < 1024)
        let status = recording.recorder.status
        #expect(status.incompleteFrames == 10 && status.gapCount == 0)
    }
}
