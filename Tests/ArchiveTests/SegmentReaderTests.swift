// SPDX-License-Identifier: Apache-2.0

import Foundation
import RecordingSamples
import TestSupport
import Testing

@testable import Archive
@testable import MP4

@Suite struct SegmentReaderTests {
    private let sample = SampleRecording(ending: .stop)
    private let temporary: TemporaryDirectory

    init() throws { temporary = try TemporaryDirectory() }

    private func read(_ bytes: some Collection<UInt8>) throws -> SegmentFacts {
        try temporary.write(bytes, to: "file.mp4")
        return try SegmentReader.read(temporary.path("file.mp4"))
    }

    private func index(_ bytes: [UInt8]) throws -> SegmentIndex {
        try temporary.write(bytes, to: "file.mp4")
        return try SegmentIndex.read(temporary.path("file.mp4"))
    }

    /// Returns the closed file after overwriting 32 bits of its index. They are at `offset` from the beginning of a
    /// box: the box number `number` of the type `type`.
    private func patched(_ type: String, _ offset: Int, _ value: UInt32, number: Int = 0) throws -> [UInt8] {
        try patch(sample.closed, type, offset, value, number: number)
    }

    private func patch(
        _ bytes: [UInt8], _ type: String, _ offset: Int, _ value: UInt32, number: Int = 0
    ) throws -> [UInt8] {
        let places = BoxReader.positions(of: Array(type.utf8), in: bytes).filter { $0 > sample.index }
        try #require(places.count > number)
        var bytes = bytes
        let place = places[number] - 4 + offset
        withUnsafeBytes(of: value.bigEndian) { bytes.replaceSubrange(place..<place + 4, with: $0) }
        return bytes
    }

    @Test
    func `A recording has the same start, tracks, frames and duration, whether its file is closed or open`() throws {
        let (closed, open) = (try read(sample.closed), try read(sample.open))
        #expect(closed.isClosed && !open.isClosed)
        #expect(closed.problems.isEmpty && open.problems.isEmpty, "\(closed.problems) \(open.problems)")
        #expect(closed.leading == open.leading && closed.audio == open.audio && closed.start == open.start)
        #expect(closed.frames == 100 && closed.channel == "test")
        #expect(closed.duration == 4_000_000_000)
        #expect(closed.position == SegmentPosition(run: "a1", programStart: 0, ending: .stop))
    }

    /// The changes to the tables of the video, each with all problems that must then be reported.
    @Test(arguments: [
        // A long first frame delays all others, and makes the track longer than its edit.
        (
            "stts", 16, UInt32(2002),
            ["the video: the edit list does not end where the samples end"]
        ),
        ("stss", 16, 2, ["the video: the file does not begin with a keyframe"]),
        ("elst", 16, 7, ["the video: the edit list does not end where the samples end"]),
        ("stsz", 20, 0, ["the video: a sample is empty"]),
        ("co64", 20, 0, ["the video: samples lie outside of the file"]),
        ("co64", 20, .max, ["the video: samples lie outside of the file"]),
    ])
    func `An impossible value in the sample tables of the video is reported as exactly one problem`(
        type: String, offset: Int, value: UInt32, expected: [String]
    ) throws {
        guard type != "stts" else {
            // Durations are doubled, so every second frame seems to be missing.
            let facts = try read(try patched("stts", 20, value))
            #expect(facts.problems == expected)
            return
        }
        #expect(try read(try patched(type, offset, value)).problems == expected)
    }

    @Test func `Repeated decoding times and repeated presentation times in a file are reported`() throws {
        let problems = try read(try patched("stts", 20, 0)).problems
        #expect(problems.contains("the video: decoding times stand still"))
        #expect(problems.contains("the video: 99 samples are shown at the time of others"))
    }

    @Test(arguments: [
        ("stsz", 16, UInt32.max, "a table ends too early"),
        ("stts", 16, 99, "its tables disagree on the number of samples"),
        ("stsc", 16, 7, "its table of chunks is out of order"), ("co64", 12, 77, "a table ends too early"),
        ("stss", 16, .max, "its table of keyframes is out of order"),
        ("mdhd", 20, 0, "a time scale is 0"), ("stsz", 12, 5, "its table of sizes is of another make"),
    ])
    func `Contradictory sample tables are reported as damage, and the message names the table`(
        type: String, offset: Int, value: UInt32, reason: String
    ) throws {
        #expect(throws: SegmentReadFailure.damaged(reason)) { try read(try patched(type, offset, value)) }
    }

    @Test func `A truncated recording is reported as damaged, and a file of another kind as foreign`() throws {
        for (length, reason) in [
            (40, "a box ends too early"), (48, "its index is missing"), (500, "its index is missing"),
            (sample.closed.count / 2, "its index is missing"), (sample.closed.count - 1, "its index is missing"),
        ] {
            #expect(throws: SegmentReadFailure.damaged(reason), "\(length)") { try read(sample.closed.prefix(length)) }
        }
        #expect(throws: SegmentReadFailure.damaged("something follows its index")) { try read(sample.closed + [0]) }
        for content in [
            [], [1, 2, 3], Array("ftyp".utf8),
            [0, 0, 0, 32] + Array("ftypisom".utf8) + [UInt8](repeating: 0, count: 900),
        ] {
            #expect(throws: SegmentReadFailure.foreign("it does not begin as one")) { try read(content) }
        }
    }

    @Test func `A track that begins years late is reported as damage, and no computation of times overflows`() throws {
        // The movie's time scale becomes one second, and the video's only edit becomes an empty edit.
        let bytes = try patch(try patched("mvhd", 20, 1), "elst", 20, .max)
        for (seconds, text) in [
            (UInt32.max, "a track begins absurdly late"), (100_000_000, "its times are absurd"),
        ] {
            let late = try patch(bytes, "elst", 16, seconds)
            #expect(throws: SegmentReadFailure.damaged(text)) { try index(late) }
        }
    }

    @Test func `Reading a file with random damage never crashes the process`() throws {
        var random = SeededRandom()
        for _ in 0..<2000 {
            var bytes = sample.closed
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let range = Bool.random(using: &random) ? 0..<bytes.count : sample.index..<bytes.count
                bytes[Int.random(in: range, using: &random)] =
                    [0, 1, 0x7F, 0x80, 0xFF, .random(in: 0 ... .max)][Int.random(in: 0..<6, using: &random)]
            }
            do {
                let facts = try read(bytes)
                #expect(facts.bytes == bytes.count)
                _ = try index(bytes)
            } catch {
                #expect(error is SegmentReadFailure, "\(error)")
            }
        }
    }

    @Test func `A file and its repaired copy together count as one recording`() {
        let names = ["a.mp4", "a.repaired.mp4", "b.mp4", "b.repaired.mp4", "c.mp4", "d.repaired.mp4"]
        let counted = SegmentSalvage.counted(names) { $0 == "b.mp4" }
        #expect(counted == ["a.repaired.mp4", "b.mp4", "c.mp4", "d.repaired.mp4"])
    }
}
