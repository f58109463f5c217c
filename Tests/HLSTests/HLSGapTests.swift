// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Networking
import PacketSamples
import TestSupport
import Testing

@testable import HLS

/// What players get when one or both tracks of a program have gaps.
@Suite struct HLSGapTests {
    /// A range of missing packets.
    struct Gap: CustomTestStringConvertible {
        var tracks: Set<TrackKind>
        /// Seconds of program time.
        var start: Double
        var length: Double
        var testDescription: String { "\(tracks.map(\.rawValue).sorted()) from \(start) s for \(length) s" }

        func holds(_ packet: EncodedPacket) -> Bool {
            let time = Double(packet.dtsNanoseconds) / 1e9
            return tracks.contains(packet.track) && time >= start && time < start + length
        }
    }

    /// A program with gaps.
    struct Case: CustomTestStringConvertible {
        var gaps: [Gap]
        /// Whether two of three frames are decoded before a frame that is shown earlier.
        var hasReordering: Bool
        var seconds: Double { 8 + (gaps.map { $0.start + $0.length }.max() ?? 4) }
        var testDescription: String { "\(gaps.map(\.testDescription)), B-frames: \(hasReordering)" }
    }

    /// The same cases at each run, with gaps at all positions in a GOP.
    static let cases: [Case] = {
        var generator = SeededRandom(seed: 29)
        let kinds: [Set<TrackKind>] = [[.video, .audio], [.video], [.audio]]
        var cases = kinds.flatMap { kind in
            [0.1, 0.5, 2, 16].map { length in
                let gap = Gap(tracks: kind, start: .random(in: 3...5, using: &generator), length: length)
                return Case(gaps: [gap], hasReordering: length < 1)
            }
        }
        for number in 0..<8 {
            var start = Double.random(in: 3...5, using: &generator)
            let gaps = (0..<2).map { _ in
                defer { start += 20 }
                return Gap(
                    tracks: kinds[.random(in: 0..<3, using: &generator)], start: start,
                    length: .random(in: 0.1...16, using: &generator))
            }
            cases.append(Case(gaps: gaps, hasReordering: number % 2 == 0))
        }
        return cases
    }()

    private let path = NSTemporaryDirectory() + "relay-hls-\(UUID().uuidString)"

    private var playlist: HLSPlaylist? {
        (try? String(contentsOfFile: "\(path)/index.m3u8", encoding: .utf8)).flatMap { HLSPlaylist(parsing: $0) }
    }

    /// 30 frames per second with a keyframe each second and AAC, in decoding order, without the packets in gaps.
    private func packets(_ program: Case) -> [EncodedPacket] {
        let frames = Int64(program.seconds) * 30
        var packets = (0..<frames).map { index in
            // I P B B P B B …, with a delay of one frame.
            let shown = index % 30 == 0 || index % 30 > 27 ? index : index % 3 == 1 ? index + 2 : index - 1
            return Samples.video(
                pts: (program.hasReordering ? shown : index) + 1, dts: index, isKeyframe: index % 30 == 0)
        }
        packets += (0..<frames * 1600 / 1024).map { Samples.audio(pts: $0 * 1024) }
        return packets.filter { packet in !program.gaps.contains { $0.holds(packet) } }
            .sorted { ($0.programDts, $0.track.rawValue) < ($1.programDts, $1.track.rawValue) }
    }

    /// Writes `packets`; returns the longest program time between two versions of the playlist while packets came.
    private func write(_ packets: [EncodedPacket], segment: String = "2s") throws -> Duration {
        let writer = try HLSWriter(path, HLSOptions(["segment": segment, "list": "100"]), Samples.description)
        var (longest, segments) = (Duration.zero, 0)
        var (changed, last) = (ProgramInstant.zero, ProgramInstant.zero)
        for packet in packets {
            // During a gap of both tracks there is nothing to publish.
            changed += max(.zero, packet.programDts - last - .milliseconds(250))
            last = packet.programDts
            try writer.write(packet)
            longest = max(longest, last - changed)
            if writer.segments > segments { (segments, changed) = (writer.segments, last) }
        }
        try writer.finish(isProgramOver: true)
        return longest
    }

    @Test(
        "After a gap in one track or in both, each frame and audio packet in the HLS segments has its own time",
        arguments: cases)
    func times(program: Case) throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let sent = packets(program)
        _ = try write(sent)
        let entries = try #require(playlist).entries
        let files = try entries.map { try SegmentSamples("\(path)/\($0.name)") }
        let first = try #require(sent.firstIndex { $0.track == .video })
        var shifts: [Double] = []
        for (kind, rate) in [(TrackKind.video, 90_000), (.audio, 48_000)] {
            let written = files.flatMap(\.samples).filter { $0.track == kind }
            let expected = sent[first...].filter { $0.track == kind }
            #expect(written.count == expected.count)
            // File times and program times differ by one constant.
            let base = TimeBase(1, Int32(rate))
            let shift = zip(written, expected).map { $0.pts - $1.timeBase.rescale($1.pts, to: base) }
            let decoding = zip(written, expected).map { $0.dts - $1.timeBase.rescale($1.dts, to: base) }
            #expect(Set(shift).count == 1 && Set(decoding) == Set(shift), "\(kind): \(Set(shift).sorted())")
            shifts.append(Double(shift.first ?? 0) / Double(rate))
        }
        #expect(abs(shifts[0] - shifts[1]) < 0.000_1, "audio and video are apart")
        #expect(files.flatMap(\.numbers) == Array(1...files.flatMap(\.numbers).count))
    }

    @Test(
        "A playlist grows within 1.5 target durations if one track is missing, and no segment is too long",
        arguments: cases)
    func pace(program: Case) throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try write(packets(program)) <= .seconds(3))
        let playlist = try #require(playlist)
        #expect(playlist.targetSeconds == 2)
        #expect(playlist.entries.allSatisfy { $0.duration < 2_500_000 && $0.duration > 0 })
        // A gap must not count as a GOP's length, which would shorten all later segments. A short gap with a missing
        // keyframe looks like a longer GOP.
        if program.gaps.allSatisfy({ $0.length >= 1 }) {
            #expect(playlist.entries.dropLast().suffix(2).allSatisfy { $0.duration >= 1_900_000 })
        }
        // Only a gap of both tracks interrupts the playlist's timeline, and it is marked as a discontinuity.
        let holes = program.gaps.filter { $0.tracks.count == 2 && $0.length > 1 }.count
        let marked = playlist.entries.count(where: \.isDiscontinuous)
        #expect((holes...holes + program.gaps.count).contains(marked))
        for (entry, next) in zip(playlist.entries, playlist.entries.dropFirst()) where !next.isDiscontinuous {
            #expect(abs(next.date - entry.date - entry.duration / 1000) <= 1)
        }
    }

    @Test("At one frame in 5 s segments have the target duration, and are not declared independent in the playlist")
    func stills() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        var sent = (0..<Int64(8)).map { Samples.video(pts: $0 * 150, dts: $0 * 150, isKeyframe: $0 % 4 == 0) }
        sent += (0..<Int64(40 * 46)).map { Samples.audio(pts: $0 * 1024) }
        sent.sort { $0.programDts < $1.programDts }
        #expect(try write(sent) <= .seconds(3))
        let playlist = try #require(playlist)
        #expect(playlist.targetSeconds == 2 && playlist.entries.count >= 18)
        let dependent = playlist.entries.count { !$0.isIndependent }
        #expect(!playlist.text.contains("INDEPENDENT") && dependent == playlist.entries.count)
        #expect(HLSPlaylist(parsing: playlist.text) == playlist)
    }

    @Test("If a frame's duration field is too large, the frames after it are not delayed")
    func longFrame() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let sent = (0..<Int64(90)).map { index in
            let frame = Samples.video(pts: index, dts: index, isKeyframe: index % 30 == 0)
            guard index % 30 == 29 else { return frame }
            return EncodedPacket(
                of: frame.description, pts: frame.pts, dts: frame.dts, duration: 7, isKeyframe: false,
                payload: frame.payload)
        }
        _ = try write(sent, segment: "1s")
        let entries = try #require(playlist).entries
        let files = try entries.map { try SegmentSamples("\(path)/\($0.name)") }
        let times = files.flatMap(\.samples).map(\.pts)
        #expect(times.map { $0 - times[0] } == (0..<90).map { $0 * 3000 })
    }

    @Test("If a sender's audio is a second ahead of its video, segments still begin with keyframes")
    func ahead() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let program = Case(gaps: [], hasReordering: false)
        let late = packets(program).map { ($0, $0.programDts + ($0.track == .video ? .seconds(1) : .zero)) }
        _ = try write(late.sorted { $0.1 < $1.1 }.map(\.0))
        let playlist = try #require(playlist)
        #expect(playlist.entries.allSatisfy { $0.isIndependent && !$0.isDiscontinuous })
        #expect(playlist.entries.dropLast().allSatisfy { $0.duration == 2_000_000 })
    }
}
