// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import PacketSamples
import TestSupport
import Testing

@testable import HLS

/// Marked moments in a playlist.
@Suite("Markers in a playlist") struct HLSMarkTests {
    private let path = NSTemporaryDirectory() + "relay-hls-\(UUID().uuidString)"

    private var text: String { (try? String(contentsOfFile: "\(path)/index.m3u8", encoding: .utf8)) ?? "" }
    private var playlist: HLSPlaylist? { HLSPlaylist(parsing: text) }

    /// The start of frame `index`.
    private static func start(of index: Int64) -> ProgramInstant { ProgramInstant(index, in: TimeBase(1, 30)) }

    private func write(
        _ frames: Range<Int64>, to writer: HLSWriter, marks: [Int64: String] = [:]
    ) throws {
        for index in frames {
            if let words = marks[index] { try writer.write(EncodedPacket(text: words, at: Self.start(of: index))) }
            try writer.write(Samples.video(pts: index, dts: index, isKeyframe: index % 30 == 0))
        }
    }

    private func writer() throws -> HLSWriter {
        try HLSWriter(path, HLSOptions(["segment": "1s", "list": "3"]), Samples.description)
    }

    @Test("A marker is written as a date range with its own date, and is removed with its segment")
    func window() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let writer = try writer()
        try write(0..<91, to: writer, marks: [15: "half", 60: "two"])
        let first = try #require(playlist)
        #expect(first.entries.map { $0.marks.map(\.text) } == [["half"], [], ["two"]])
        let (half, two) = (try #require(first.entries[0].marks.first), try #require(first.entries[2].marks.first))
        #expect(half.date - first.entries[0].date == 500 && two.date == first.entries[2].date)
        #expect(text.contains("\(half.line)\n#EXTINF:1.000000,\n\(first.entries[0].name)\n"))
        // Players need the date of each segment to position a marker (RFC 8216, 4.3.2.7).
        #expect(text.split(separator: "\n").count { $0.hasPrefix("#EXT-X-PROGRAM-DATE-TIME:") } == 3)
        try write(91..<121, to: writer)
        #expect(!text.contains("half") && text.contains("X-TEXT=\"two\""))
        // The moment after the last frame.
        try writer.write(EncodedPacket(text: "end", at: Self.start(of: 121)))
        try writer.finish(isProgramOver: true)
        #expect(playlist?.entries.last?.marks.map(\.text) == ["end"])
    }

    @Test("A marker that arrives late is added to its segment; one before the first frame is dropped")
    func late() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let writer = try writer()
        try writer.write(EncodedPacket(text: "nowhere", at: 0))
        try write(0..<31, to: writer)
        try writer.write(EncodedPacket(text: "behind", at: Self.start(of: 29)))
        try write(31..<61, to: writer)
        #expect(playlist?.entries.map { $0.marks.map(\.text) } == [["behind"], []])
        #expect(!text.contains("nowhere"))
        try writer.finish(isProgramOver: true)
    }

    @Test("The next run of an HLS output keeps the markers of the previous run unchanged")
    func restart() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        do {
            let writer = try writer()
            try write(0..<61, to: writer, marks: [15: "before"])
            try writer.finish(isProgramOver: false)
        }
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("#EXT-X-DATERANGE") })
        let writer = try writer()
        try write(0..<31, to: writer)
        #expect(text.contains("\(line)\n"))
        try writer.finish(isProgramOver: true)
    }

    @Test(
        "In a marker's text characters that a quoted string forbids are replaced, and all others are kept",
        arguments: [
            ("Tor! 1:0", "Tor! 1:0"), ("say \"yes\"", "say 'yes'"), ("one\ntwo\r\nthree\u{2028}", "one two  three "),
            ("a,b=c:d", "a,b=c:d"), ("⚽️ ü \u{301}", "⚽️ ü \u{301}"), ("\u{301}", "\u{301}"), ("\"", "'"),
            ("\u{600}", "\u{600}"), ("#EXT-X-ENDLIST", "#EXT-X-ENDLIST"), ("tab\tbell\u{7}", "tab bell "),
        ])
    func quoting(words: String, shown: String) throws {
        let mark = HLSMark(words, at: 1_700_000_000_123, number: 1)
        #expect(Array(mark.text.unicodeScalars) == Array(shown.unicodeScalars))
        let line = mark.line
        #expect(line.utf8.count { $0 == UInt8(ascii: "\"") } == 8 && !line.utf8.contains { $0 < 32 })
        #expect(line.contains("START-DATE=\"2023-11-14T22:13:20.123Z\""))
        #expect(HLSMark(parsing: line.dropFirst("#EXT-X-DATERANGE:".count)) == mark)
    }

    @Test(
        "A date range that relay did not write is not parsed as a marker",
        arguments: [
            "", "ID=\"a\"", "\"\"\"\"", "ID=\"a\",CLASS=\"x\",START-DATE=\"2023-11-14T22:13:20.123Z\",X-TEXT=\"t\"",
        ])
    func foreign(value: String) { #expect(HLSMark(parsing: Substring(value)) == nil) }

    @Test("Even many markers do not make a playlist too long to be parsed")
    func bounds() throws {
        var playlist = HLSPlaylist(targetSeconds: 1)
        let words = String(repeating: "\u{10FFFF}", count: 500)
        for index in Int64(0)..<Int64(HLSPlaylist.maximumEntries) {
            let entry = HLSPlaylist.Entry(
                name: HLSName.segment(run: 1_700_000_000_000_000, number: index),
                map: HLSName.map(run: 1_700_000_000_000_000 + index),
                duration: 1_000_000, date: 1_700_000_000_000 + index * 1000, isDiscontinuous: true)
            _ = playlist.append(entry, limit: HLSPlaylist.maximumEntries)
            if index % 4 == 0 { playlist.add([HLSMark(words, at: entry.date, number: Int(index))]) }
        }
        let text = playlist.text
        #expect(text.utf8.count < 1 << 20, "\(text.utf8.count)")
        #expect(HLSPlaylist(parsing: text) == playlist)
        #expect(playlist.entries[0].marks.isEmpty && !playlist.entries[3996].marks.isEmpty)
    }
}
