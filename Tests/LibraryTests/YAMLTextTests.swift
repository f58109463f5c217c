// SPDX-License-Identifier: Apache-2.0

import Catalogue
import Media
import TestSupport
import Testing

@testable import Library

@Suite("Quoting of names in run-downs")
struct YAMLTextTests {
    private static let pieces = [
        "a", "B", " ", "é", "\u{1F3A5}", "\"", "\\", "'", "#", ":", "- ", "*", "&", "%", "{", "]", "\n", "\r", "\t",
        "\u{1B}", "\u{7F}", "\u{85}", "\u{9B}", "\u{A0}", "\u{2028}", "\u{2029}", "\u{FEFF}", "\u{FFFE}", "\u{FFFF}",
    ]

    /// Returns `text` without U+FEFF at its beginning. Yams drops it there as a byte order mark, even if it is escaped.
    private func readable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.drop { $0 == "\u{FEFF}" }))
    }

    @Test("Any text that is quoted for YAML is read back unchanged")
    func quoted() throws {
        var random = SeededRandom()
        for _ in 0..<500 {
            let text = readable(random.text(of: Self.pieces, upTo: 12))
            let read = try ReadYAML("segments:\n  - file: \(YAMLText.quoted(text))\n")
            #expect(read.segments.map { $0["file"] } == [.text(text)], "\(text.debugDescription)")
        }
    }

    @Test("A project of clips can be parsed whatever the names of its channel, clips and files are")
    func project() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            let names = (0..<5).map { _ in readable(random.text(of: Self.pieces, upTo: 8)) }
            func clip(_ first: Int64, _ end: Int64?, _ name: String) -> CatalogueClip {
                CatalogueClip(
                    .init(id: "\(first)", run: "a", first: first, end: end), channel: "main", rate: FrameRate(25),
                    start: 0, name: name)
            }
            let file = RunFile(name: names[4], closedName: names[4], start: 0, program: 0..<10_000_000_000)
            // The second clip is still running, and nothing of the third clip is recorded.
            let clips = [clip(0, 25, names[1]), clip(50, nil, names[2]), clip(5000, 5010, names[3])]
            let text = ClipProject(channel: names[0]).text(clips, files: ["a": [file]])
            let segment: [String: ReadYAML] = [
                "name": .text(YAMLText.plain(names[1])), "file": .text(names[4]), "in": .text("0.000000s"),
                "duration": .text("1.000000s"),
            ]
            #expect(try ReadYAML(text).segments == [.map(segment)], "\(text.debugDescription)")
            #expect(text.split(separator: "\n").count == 8)
        }
    }
}
