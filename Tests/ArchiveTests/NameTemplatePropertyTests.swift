// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Archive

/// Random templates, and the names that they make.
@Suite struct NameTemplatePropertyTests {
    private static let pieces = [
        "{channel}", "{start}", "{sequence}", "{date}", "{time}", "{year}", "{month}", "{day}", "{hour}", "{minute}",
        "{second}", "{shortYear}", "{dayOfYear}", "%Y", "%m", "%d", "%H", "%M", "%S", "%F", "%y", "%j", "%%", "_", "-",
        " ", "a", "x y", "é", "/", ".", "ü/", "{sequence}", "_{channel}_",
    ]

    /// Returns the valid templates among `count` random texts.
    private func templates(_ count: Int, _ random: inout SeededRandom) -> [(text: String, template: NameTemplate)] {
        var found: [(text: String, template: NameTemplate)] = []
        for _ in 0..<count {
            let text = random.text(of: Self.pieces, upTo: 9)
            if let template = try? NameTemplate(parsing: text) { found.append((text, template)) }
        }
        return found
    }

    // Regression: templates are stored as texts and parsed again. If a template had nearly the maximum length, its
    // stored text was longer than that. The template was then forgotten, together with all files that it had named.
    @Test
    func `A name template that is printed and parsed again is unchanged, and its text has not become longer`() throws {
        var random = SeededRandom()
        let all = templates(4000, &random)
        #expect(all.count > 100)
        for (text, template) in all {
            #expect(try NameTemplate(parsing: template.text) == template, "\(text)")
            #expect(template.text.utf8.count <= text.utf8.count, "\(text)")
        }
        let longest = String(repeating: "%Y", count: 94) + "{sequence}__"
        #expect(longest.utf8.count == 200)
        let template = try NameTemplate(parsing: longest)
        #expect(try NameTemplate(parsing: template.text) == template)

        let directory = try TemporaryDirectory()
        _ = try RecordDirectory.prepare(directory.path, template: template)
        #expect(try RecordDirectory.prepare(directory.path).templates.contains(template))
    }

    @Test func `A path made from a name template stays below its directory and has no hidden component`() {
        var random = SeededRandom()
        for (text, template) in templates(4000, &random) {
            let path = template.path(
                channel: SegmentName.safe("..a"), start: UTCTime(milliseconds: 1_795_269_790_123), sequence: 3,
                offset: 0)
            let parts = path.split(separator: "/", omittingEmptySubsequences: false)
            #expect(parts.count == template.depth + 1 && template.depth <= NameTemplate.deepest, "\(text)")
            #expect(parts.allSatisfy { !$0.isEmpty && !$0.hasPrefix(".") }, "\(text)")
        }
    }

    @Test func `A name template parses every file name that it makes: open, closed, numbered and set aside`() {
        var random = SeededRandom()
        for (text, template) in templates(4000, &random) {
            let channel = random.pick(["c", "cam-1", "a_b", "studio.2", "-", "test_20261121T140310.123Z_000001"])
            let start = UTCTime(milliseconds: .random(in: 0..<4_102_444_800_000, using: &random))
            let sequence = random.pick([0, 1, 999_999, 1_000_000, 123_456_789])
            let name = SegmentName(
                channel: channel, start: start, sequence: sequence, template: template,
                offset: .random(in: -43_200...50_400, using: &random), format: random.pick(RecordFormat.allCases))
            let reading = template.read(Substring(name.description), channel: channel)
            let hasStart = template.parts.contains(.start)
            #expect(reading?.sequence == (template.hasSequence ? sequence : 0), "\(text): \(name)")
            #expect(reading?.start == (hasStart ? start.basic : ""), "\(text): \(name)")
            for path in [
                name.closed, name.open, name.closed(attempt: 7), name.closed(attempt: 999),
                name.description + SegmentName.brokenSuffix, name.numbered(12).description + SegmentName.brokenSuffix,
            ] {
                let used = SegmentName(usedBy: path, channel: channel, template: template)
                #expect(used?.sequence == (template.hasSequence ? sequence : 0), "\(text): \(path)")
            }
        }
    }

    @Test(arguments: [
        "{sequence}{sequence}", "{sequence}_{sequence}", "{sequence}1{sequence}%y", "{sequence}/{channel}/{sequence}",
    ]) func `A file name is refused if it contains the sequence number twice with different values`(text: String) throws
    {
        let template = try NameTemplate(parsing: text)
        for sequence in [1, 111_111, 1_111_111, 11_111_111, 123_456_789] {
            let path = template.path(
                channel: "c", start: UTCTime(milliseconds: 1_795_269_790_123), sequence: sequence, offset: 0)
            #expect(template.read(Substring(path), channel: "c")?.sequence == sequence, "\(path)")
            var other = path
            let place = try #require(path.firstRange(of: UTCTime.pad(sequence, 6)))
            other.replaceSubrange(place, with: UTCTime.pad(sequence + 1, 6))
            #expect(template.read(Substring(other), channel: "c") == nil, "\(other)")
        }
    }

    @Test func `A file name is refused if it contains the start time twice with different values`() throws {
        let template = try NameTemplate(parsing: "{start}_{start}")
        let (one, two) = ("20261121T140310.123Z", "20261121T140310.124Z")
        #expect(template.read(Substring("\(one)_\(one)"), channel: "c")?.start == one)
        #expect(template.read(Substring("\(one)_\(two)"), channel: "c") == nil)
    }

    @Test(arguments: ["{channel}_{start}_{sequence}%y", "{channel}_{start}_{sequence}{sequence}"])
    func `A sequence number is parsed correctly from a file name in which further digits follow it`(text: String)
        throws
    {
        let template = try NameTemplate(parsing: text)
        let name = SegmentName(
            channel: "c", start: UTCTime(milliseconds: 1_795_269_790_123), sequence: 7, template: template)
        #expect(SegmentName(usedBy: name.closed, channel: "c", template: template)?.sequence == 7)
    }

    @Test func `A file name that contains one channel's name is not parsed as a name of another channel`() {
        var random = SeededRandom()
        for (text, template) in templates(4000, &random) where template.hasChannel {
            let channel = random.pick(["c", "cam-1", "a_b", "studio.2", "1"])
            let name = SegmentName(
                channel: channel, start: UTCTime(milliseconds: 1_795_269_790_123),
                sequence: random.pick([1, 1_111_111, 11_111_111]), template: template)
            for other in [channel + "1", channel + "_", "x" + channel] {
                #expect(template.read(Substring(name.description), channel: other) == nil, "\(text): \(name), \(other)")
            }
        }
    }

    @Test
    func `A name template is refused for a channel if its file names could be too long for the file system`() throws {
        var random = SeededRandom()
        let long = "{channel}_{channel}_{channel}_{sequence}"
        let all = templates(1000, &random) + [(text: long, template: try NameTemplate(parsing: long))]
        var results: Set<Bool> = []
        for (text, template) in all {
            for length in [1, 60, 100, 120] {
                let channel = String(repeating: "c", count: length)
                let name = SegmentName(
                    channel: channel, start: UTCTime(milliseconds: 1_795_269_790_123), sequence: 999_999_999,
                    template: template
                ).numbered(999)
                let paths = [
                    name.open, name.description + SegmentName.brokenSuffix, SegmentSalvage.repairedName(name.closed),
                ]
                let longest = paths.flatMap { $0.split(separator: "/") }.map(\.utf8.count).max() ?? 0
                do {
                    try template.checkLength(channel: channel)
                    #expect(longest <= 255, "\(text)")
                } catch {
                    #expect(longest > 255 && error.description.contains("255 at most"), "\(text)")
                }
                results.insert(longest > 255)
            }
        }
        #expect(results == [true, false])
    }

    @Test func `A name template with the date and the time makes different names for different seconds`() {
        var random = SeededRandom()
        for (text, template) in templates(4000, &random) where template.isDated {
            var names: Set<String> = []
            for step: Int64 in [0, 1, 59, 60, 3600, 86_400, 31 * 86_400, 365 * 86_400, 36_500 * 86_400] {
                let start = UTCTime(milliseconds: 951_782_390_000 + step * 1000)
                names.insert(template.path(channel: "c", start: start, sequence: 1, offset: 0))
            }
            #expect(names.count == 9, "\(text): \(names)")
        }
    }

    @Test func `Any text is parsed as a name template or refused with a complete sentence`() throws {
        var random = SeededRandom()
        let wild =
            Self.pieces + ["{", "}", "%", "\\", ":", "\u{0}", "\u{301}", "\n", "..", "{start", "}}", "\u{1F3A5}"]
        for _ in 0..<4000 {
            let text = random.text(of: wild, upTo: 12)
            let template: NameTemplate
            do {
                template = try NameTemplate(parsing: text)
            } catch {
                #expect(error.description.hasSuffix("."), "\(error.description)")
                continue
            }
            #expect(try NameTemplate(parsing: template.text) == template, "\(text)")
        }
    }

    // The operating system treats paths as bytes. A slash before a combining mark still separates two directories, and
    // a name that begins with a dot is hidden.
    @Test(arguments: ["a/\u{301}{sequence}", ".\u{301}{sequence}", "a/.\u{301}{sequence}"])
    func `A name template with a slash or a dot before a combining mark is refused`(text: String) {
        #expect(throws: TextFailure.self) { try NameTemplate(parsing: text) }
    }
}
