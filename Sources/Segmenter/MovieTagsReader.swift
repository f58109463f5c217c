// SPDX-License-Identifier: Apache-2.0

/// Reads what ``MovieTags`` writes.
enum MovieTagsReader {
    /// Whose names the items of our own are.
    static let domain = "relay"
    /// The item that says where a file lies in its program.
    static let positionName = "recording"

    /// The tags in a complete `udta` box; nil if this program did not write them.
    static func tags(_ userData: [UInt8]) throws(MP4Failure) -> MovieTags? {
        guard !userData.isEmpty else { return nil }
        var whole = BoxReader(userData[...])
        var meta = try whole.box().body.first("meta")
        _ = try meta.versionAndFlags()
        var texts: [String: String] = [:]
        for item in try meta.first("ilst").boxes() {
            guard let text = try text(item.body) else { continue }
            texts[item.type == "----" ? try name(item.body) : item.type] = text
        }
        guard let tool = texts["\u{A9}too"], tool == "relay" || tool.hasPrefix("relay "),
            let channel = texts["\u{A9}nam"], let start = texts["\u{A9}day"].flatMap(UTCTime.init(extended:))
        else { return nil }
        return MovieTags(
            channel: channel, start: start, encoderSettings: texts["\u{A9}cmt"] ?? "",
            version: String(tool.dropFirst("relay ".count)),
            position: texts["\(domain)/\(positionName)"].flatMap(SegmentPosition.init(text:)))
    }

    private static func text(_ item: BoxReader) throws(MP4Failure) -> String? {
        for box in try item.boxes() where box.type == "data" {
            var data = box.body
            let type = try data.u32()
            _ = try data.u32()
            return type == 1 ? String(decoding: data.rest.prefix(8192), as: UTF8.self) : nil
        }
        return nil
    }

    private static func name(_ item: BoxReader) throws(MP4Failure) -> String {
        var parts: [String] = []
        for type in ["mean", "name"] {
            var part = try item.first(type)
            _ = try part.versionAndFlags()
            parts.append(String(decoding: part.rest.prefix(256), as: UTF8.self))
        }
        return parts.joined(separator: "/")
    }
}

extension SegmentPosition {
    /// As in the file: always as long, however the file ends, so that the end of a recording changes no size.
    var text: String {
        let longest = SegmentEnding.recovered.rawValue.count
        let padding = String(repeating: " ", count: max(0, longest - ending.rawValue.count))
        return "run=\(run) start=\(programStart) ending=\(ending.rawValue)\(padding)"
    }

    /// Reads ``text``; nil if it is something else.
    init?(text: String) {
        var values: [Substring: Substring] = [:]
        for part in text.split(separator: " ") {
            let pair = part.split(separator: "=", maxSplits: 1)
            if pair.count == 2 { values[pair[0]] = pair[1] }
        }
        guard let run = values["run"], (1...32).contains(run.utf8.count),
            let start = values["start"].flatMap({ Int64($0) }), start.magnitude <= 1 << 60,
            let ending = values["ending"].flatMap({ SegmentEnding(rawValue: String($0)) })
        else { return nil }
        self.init(run: String(run), programStart: start, ending: ending)
    }
}

extension UTCTime {
    /// Reads ``extended``, such as `2026-11-21T14:03:10.123Z`, and nothing else.
    package init?(extended text: String) {
        let bytes = Array(text.utf8)
        let pattern = Array("0000-00-00T00:00:00.000Z".utf8)
        guard bytes.count == pattern.count,
            zip(bytes, pattern).allSatisfy({ byte, model in model == 48 ? (48...57).contains(byte) : byte == model })
        else { return nil }
        let number = { (range: Range<Int>) in bytes[range].reduce(Int64(0)) { $0 * 10 + Int64($1 - 48) } }
        let (year, month, day) = (number(0..<4), number(5..<7), number(8..<10))
        let (hour, minute, second) = (number(11..<13), number(14..<16), number(17..<19))
        guard (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second <= 60 else { return nil }
        // Days from civil: years that begin in March, so that the leap day is the last one.
        let shifted = month <= 2 ? year - 1 : year
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
        self.init(milliseconds: ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + number(20..<23))
    }
}
