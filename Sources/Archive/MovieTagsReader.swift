// SPDX-License-Identifier: Apache-2.0

package import MP4

/// Reads what ``MovieTags`` writes.
package enum MovieTagsReader {
    /// The namespace of relay's own items.
    static let domain = "relay"
    /// The item with the file's position in its program.
    static let positionName = "recording"

    /// Returns the tags in a complete `udta` box; nil if relay did not write them.
    package static func tags(_ userData: [UInt8]) throws(MP4Failure) -> MovieTags? {
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
