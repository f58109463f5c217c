// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Archive
@testable import MP4

/// The metadata that a recording contains about itself.
@Suite struct TagsTests {
    private static let endings: [SegmentEnding] = [.rotate, .stop, .error, .disk, .silent, .recovered]
    private static let words = [
        "studio", "a", " ", "é", "\u{1F3A5}", "relay ", "\n", "\u{0}", "=", "%", "ending=stop", "ilst", "udta",
    ]

    private func anyPosition(_ random: inout SeededRandom) -> SegmentPosition {
        let latest: Int64 = 1 << 60
        let starts: [Int64] = [0, 1, -1, latest, -latest, Int64.random(in: 0...latest, using: &random)]
        var position = SegmentPosition(
            run: random.pick(["a1", "0", String(repeating: "f", count: 32), "x=y"]),
            programStart: ProgramInstant(nanoseconds: random.pick(starts)), ending: random.pick(Self.endings))
        position.isTrimmed = Bool.random(using: &random)
        position.isCopied = Bool.random(using: &random)
        return position
    }

    private func anyTags(_ random: inout SeededRandom) -> MovieTags {
        MovieTags(
            channel: random.text(of: Self.words, upTo: 6),
            start: UTCTime(milliseconds: .random(in: -62_135_596_800_000..<253_402_300_800_000, using: &random)),
            encoderSettings: random.text(of: Self.words, upTo: 200), version: random.pick(["", "0.1.0", "9 beta"]),
            position: Bool.random(using: &random) ? anyPosition(&random) : nil)
    }

    private func isEqual(_ left: MovieTags, _ right: MovieTags) -> Bool {
        left.channel == right.channel && left.start == right.start && left.encoderSettings == right.encoderSettings
            && left.version == right.version && left.position == right.position
    }

    @Test func `A file's position in its program is read back as it was written, for every cause of the file's end`() {
        var random = SeededRandom()
        for _ in 0..<1000 {
            let position = anyPosition(&random)
            #expect(SegmentPosition(text: position.text) == position)
            // When a recording ends, no size may change.
            let lengths = Self.endings.map { ending -> Int in
                var other = position
                other.ending = ending
                return other.text.utf8.count
            }
            #expect(Set(lengths).count == 1)
        }
    }

    @Test func `A text that does not describe a position in a program is parsed as nil`() {
        for text in [
            "", "run=a1", "run=a1 start=0", "start=0 ending=stop", "run= start=0 ending=stop",
            "run=a1 start=x ending=stop", "run=a1 start=0 ending=over", "run=a1 start=0.5 ending=stop",
            "run=a1 start=1152921504606846977 ending=stop", "run=a1 start=-1152921504606846977 ending=stop",
            "run=a1 start=-9223372036854775808 ending=stop", "run=a1 start=99999999999999999999 ending=stop",
            "run=\(String(repeating: "f", count: 33)) start=0 ending=stop", "run=a1\tstart=0\tending=stop",
        ] {
            #expect(SegmentPosition(text: text) == nil, "\(text)")
        }
        let other = SegmentPosition(text: "ending=stop new=1 start=5 trimmed=no run=a1 =")
        #expect(
            other == SegmentPosition(run: "a1", programStart: 5, ending: .stop), "what later versions add is skipped")
    }

    @Test func `A position parsed from a damaged text has a program start within bounds`() {
        var random = SeededRandom()
        for _ in 0..<5000 {
            var text = Array(anyPosition(&random).text.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) where !text.isEmpty {
                let place = Int.random(in: text.indices, using: &random)
                text[place] = random.pick(Array("0123456789= -nx".utf8))
            }
            guard let read = SegmentPosition(text: String(decoding: text, as: UTF8.self)) else { continue }
            #expect(read.programStart.nanoseconds.magnitude <= 1 << 60 && (1...32).contains(read.run.utf8.count))
        }
    }

    @Test func `The metadata tags of a recording are read back as they were written`() throws {
        var random = SeededRandom()
        for _ in 0..<500 {
            let written = anyTags(&random)
            let read = try #require(try MovieTagsReader.tags(written.box))
            #expect(isEqual(read, written), "\(written)")
        }
        var written = anyTags(&random)
        written.chapters = [Chapter(start: 0, title: "first"), Chapter(start: 5_000_000_000, title: "second")]
        let read = try #require(try MovieTagsReader.tags(written.box))
        #expect(isEqual(read, written), "chapters follow the tags")
    }

    @Test
    func `Encoder settings that are too long for the metadata are truncated, and all other tags are kept`() throws {
        var tags = MovieTags(
            channel: "test", start: UTCTime(milliseconds: 0), encoderSettings: String(repeating: "x", count: 9000))
        tags.position = SegmentPosition(run: "a1", programStart: 7, ending: .stop)
        let read = try #require(try MovieTagsReader.tags(tags.box))
        #expect(read.encoderSettings.utf8.count == 8192)
        #expect(read.channel == "test" && read.position == tags.position)
    }

    @Test func `Tags are not read as relay's if they are missing, damaged or written by another program`() throws {
        #expect(try MovieTagsReader.tags([]) == nil)
        var tags = MovieTags(channel: "test", start: UTCTime(milliseconds: 0), encoderSettings: "")
        let ours = tags.box
        #expect(try MovieTagsReader.tags(ours) != nil)
        for (mark, other) in [
            ("relay", "Lavf6"), ("1970-01-01T", "1970-02-30T"), ("1970-01-01T", "yesterday !"), ("too", "tox"),
        ] {
            var bytes = ours
            for place in BoxReader.positions(of: Array(mark.utf8), in: ours) {
                bytes.replaceSubrange(place..<place + mark.utf8.count, with: Array(other.utf8))
            }
            #expect(try MovieTagsReader.tags(bytes) == nil, "\(other)")
        }
        tags.version = "2"
        #expect(try MovieTagsReader.tags(tags.box)?.version == "2")
    }

    @Test func `Random damage of metadata tags is reported or skipped, and never crashes the process`() {
        var random = SeededRandom()
        var told = 0
        for _ in 0..<3000 {
            var bytes = anyTags(&random).box
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let place = Int.random(in: bytes.indices, using: &random)
                let other = UInt8.random(in: 0 ... .max, using: &random)
                bytes[place] = random.pick([0, 1, 0x7F, 0x80, 0xFF, other])
            }
            let cut = Int.random(in: 0...bytes.count, using: &random)
            if Bool.random(using: &random) { bytes.removeLast(cut) }
            do {
                _ = try MovieTagsReader.tags(bytes)
            } catch {
                told += 1
                #expect(!error.description.isEmpty)
            }
        }
        #expect(told > 0)
    }

    @Test func `The creation time in seconds since 1904 matches the start time, and never overflows`() {
        let seconds = { (milliseconds: Int64) in
            MovieTags(channel: "", start: UTCTime(milliseconds: milliseconds), encoderSettings: "").secondsSince1904
        }
        #expect(seconds(0) == 2_082_844_800 && seconds(1999) == 2_082_844_801)
        #expect(seconds(-2_082_844_800_000) == 0 && seconds(-62_135_596_800_000) == 0)
        #expect(seconds(253_402_300_799_999) == 255_485_145_599)
    }
}
