// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Testing

@testable import Archive
@testable import MP4
@testable import Segmenter

@Suite struct SegmentReaderTests {
    private static let rate = FrameRate(30000, 1001)

    private static func closed() throws -> [UInt8] {
        let directory = try TemporaryDirectory()
        let recording = try Recording(
            description(rate: rate), length: .duration(.seconds(3600)), directory: directory)
        recording.feed(syntheticProgram(rate: rate, frames: 100, isKeyframe: { $0 % 50 == 0 }, size: 40))
        recording.finish()
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: try #require(recording.finished.first))))
    }

    private func read(_ bytes: some Collection<UInt8>) throws -> SegmentFacts {
        let directory = try TemporaryDirectory()
        try Data(bytes).write(to: URL(fileURLWithPath: directory.path("file.mp4")))
        return try SegmentReader.read(directory.path("file.mp4"))
    }

    private func index(_ bytes: [UInt8]) throws -> SegmentIndex {
        let directory = try TemporaryDirectory()
        try Data(bytes).write(to: URL(fileURLWithPath: directory.path("file.mp4")))
        return try SegmentIndex.read(directory.path("file.mp4"))
    }

    /// Overwrites 32 bits at `offset` from the beginning of the first box of `type` behind `start`.
    private func patch(_ bytes: [UInt8], _ type: String, _ offset: Int, _ value: UInt32, from start: Int) throws
        -> [UInt8]
    {
        let place = try #require(BoxReader.positions(of: Array(type.utf8), in: bytes).first { $0 > start }) - 4 + offset
        var bytes = bytes
        withUnsafeBytes(of: value.bigEndian) { bytes.replaceSubrange(place..<place + 4, with: $0) }
        return bytes
    }

    @Test func `A closed file and the same one left open tell the same`() throws {
        let bytes = try Self.closed()
        let size = bytes[40..<48].reduce(0) { $0 << 8 | Int($1) }
        let closed = try read(bytes)
        let open = try read(MovieBox.openHead + bytes[48..<32 + size])
        #expect(closed.isClosed && !open.isClosed)
        #expect(closed.problems.isEmpty && open.problems.isEmpty, "\(closed.problems) \(open.problems)")
        #expect(closed.video == open.video && closed.audio == open.audio && closed.start == open.start)
        #expect(closed.video.samples == 100 && closed.channel == "test")
        #expect(closed.duration == 3_336_666_667)
        #expect(closed.position?.ending == .stop && open.position?.ending == .recovered)
        #expect(closed.position?.programStart == 0 && closed.position?.run == open.position?.run)
    }

    @Test func `What cannot be right in the tables is told`() throws {
        let bytes = try Self.closed()
        let size = bytes[40..<48].reduce(0) { $0 << 8 | Int($1) }
        let index = 32 + size
        for (type, offset, value, text) in [
            // The duration of the first run of frames; the first chunk's place; the first keyframe; the edit's length.
            ("stts", 20, UInt32(2002), "missing"), ("stts", 20, 0, "stand still"),
            ("co64", 20, 0, "outside of the file"),
            ("stss", 16, 2, "begin with a keyframe"), ("elst", 16, 7, "where the samples end"),
            ("stsz", 20, 0, "a sample is empty"),
        ] {
            do {
                let facts = try read(try patch(bytes, type, offset, value, from: index))
                #expect(facts.problems.contains { $0.contains(text) } || !facts.problems.isEmpty, "\(type): \(facts)")
            } catch {
                Issue.record("\(type): \(error)")
            }
        }
        for (type, offset, value) in [
            ("stsz", 16, UInt32.max), ("stts", 16, 99), ("stsc", 16, 0), ("co64", 12, 77), ("stss", 16, .max),
        ] {
            #expect(throws: SegmentReadFailure.self, "\(type)") {
                try read(try patch(bytes, type, offset, value, from: index))
            }
        }
    }

    @Test func `A file cut short is damaged, and anything else is foreign`() throws {
        let bytes = try Self.closed()
        for length in [40, 48, 500, bytes.count / 2, bytes.count - 1] {
            do {
                _ = try read(bytes.prefix(length))
                Issue.record("\(length) bytes were taken")
            } catch let failure as SegmentReadFailure {
                guard case .damaged = failure else {
                    Issue.record("\(length): \(failure)")
                    continue
                }
            }
        }
        for content in [
            [], [1, 2, 3], Array("ftyp".utf8),
            [0, 0, 0, 32] + Array("ftypisom".utf8) + [UInt8](repeating: 0, count: 900),
        ] {
            #expect(throws: SegmentReadFailure.foreign("it does not begin as one")) { try read(content) }
        }
    }

    @Test func `Random damage never traps`() throws {
        let closed = try Self.closed()
        var random = SplitMix(state: 7)
        let size = closed[40..<48].reduce(0) { $0 << 8 | Int($1) }
        for _ in 0..<2000 {
            var bytes = closed
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let range = Bool.random(using: &random) ? 0..<bytes.count : 32 + size..<bytes.count
                bytes[Int.random(in: range, using: &random)] =
                    [0, 1, 0x7F, 0x80, 0xFF, .random(in: 0 ... .max)][Int.random(in: 0..<6, using: &random)]
            }
            _ = try? read(bytes)
            _ = try? index(bytes)
        }
    }

    @Test func `A track that begins years late is refused, for times are added to it`() throws {
        var bytes = try Self.closed()
        let movie = 32 + bytes[40..<48].reduce(0) { $0 << 8 | Int($1) }
        // The movie's ticks are seconds, and the frame's only edit becomes an empty one.
        bytes = try patch(bytes, "mvhd", 20, 1, from: movie)
        bytes = try patch(bytes, "elst", 20, .max, from: movie)
        for (seconds, text) in [(UInt32.max, "begins absurdly late"), (100_000_000, "its times are absurd")] {
            let late = try patch(bytes, "elst", 16, seconds, from: movie)
            let failure = #expect(throws: SegmentReadFailure.self) { try index(late) }
            #expect(failure?.description.contains(text) == true, "\(seconds): \(String(describing: failure))")
        }
    }

    @Test func `Of a file and its salvaged copy one counts`() {
        let names = ["a.mp4", "a.repaired.mp4", "b.mp4", "b.repaired.mp4", "c.mp4", "d.repaired.mp4"]
        let counted = SegmentSalvage.counted(names) { $0 == "b.mp4" }
        #expect(counted == ["a.repaired.mp4", "b.mp4", "c.mp4", "d.repaired.mp4"])
    }

    @Test func `Times of the wall clock are read as they are written`() {
        for milliseconds: Int64 in [0, 951_782_399_999, 951_868_800_001, 1_795_269_790_123, 4_102_444_799_500] {
            let time = UTCTime(milliseconds: milliseconds)
            #expect(UTCTime(extended: time.extended) == time)
        }
        for text in [
            "", "2026-11-21", "2026-13-21T14:03:10.123Z", "2026-11-21T14:03:10.123+", "2026-11-21T24:03:10.123Z",
        ] {
            #expect(UTCTime(extended: text) == nil)
        }
    }
}
