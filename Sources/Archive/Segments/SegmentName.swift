// SPDX-License-Identifier: Apache-2.0

/// The name of a recording's file, usually `<channel>_<UTC start>_<sequence>`, or as a ``NameTemplate`` makes it. Names
/// of one channel sort by time, unless a template makes others.
package struct SegmentName: Sendable, Hashable, CustomStringConvertible {
    /// The channel, in characters that are safe in a file name.
    package let channel: String
    /// The start in ISO 8601 basic format with milliseconds; empty if the name does not say it.
    package let start: String
    /// Counts up over the files of a channel in a directory; 0 if the name does not say it.
    package let sequence: Int
    /// The path below the record directory, without an extension.
    let path: String
    /// The extension of the closed file, with its point.
    package let fileExtension: String

    /// What is behind the extension of a file that is being written.
    package static let openMark = ".part"
    /// The extension of a file that recovery could make nothing of.
    static let brokenSuffix = ".broken"

    private init(_ path: String, _ channel: String, _ reading: NameTemplate.Reading, _ fileExtension: String) {
        self.path = path
        self.channel = channel
        self.fileExtension = fileExtension
        start = reading.start
        sequence = reading.sequence
    }

    /// A name for a file of `channel` that starts at `start`, when local time is `offset` seconds ahead of UTC.
    package init(
        channel: String, start: UTCTime, sequence: Int, template: NameTemplate = .standard, offset: Int = 0,
        format: RecordFormat = .hybrid
    ) {
        let channel = Self.safe(channel)
        self.init(
            template.path(channel: channel, start: start, sequence: sequence, offset: offset), channel,
            NameTemplate.Reading(start: start.basic, sequence: sequence), format.fileExtension)
    }

    /// Reads the name of a file that is open or closed, in any directory, if it is of the usual form; nil if it is not.
    package init?(fileName: String) {
        guard let (path, fileExtension) = Self.takeApart(fileName) else { return nil }
        self.init(standard: path, fileExtension)
    }

    /// The name of any file that is open or closed, whatever it says; nil if it has another extension.
    init?(anyName fileName: String) {
        guard let (path, fileExtension) = Self.takeApart(fileName) else { return nil }
        self.init(String(path), "", NameTemplate.Reading(), fileExtension)
    }

    /// Reads the name of a file of `channel` that is open or closed, if it is of the usual form or as `template` makes
    /// it; nil if it is not.
    package init?(fileName: String, channel: String, template: NameTemplate) {
        guard let (path, fileExtension) = Self.takeApart(fileName) else { return nil }
        self.init(path, fileExtension, channel, template)
    }

    /// Reads the name of any file of `channel` that has used up a sequence number: open, closed, set aside, or with a
    /// number behind it because its name was taken.
    init?(usedBy fileName: String, channel: String, template: NameTemplate) {
        let isBroken = fileName.hasSuffix(Self.brokenSuffix)
        let parts: (path: Substring, fileExtension: String)? =
            isBroken ? (fileName.dropLast(Self.brokenSuffix.count), "") : Self.takeApart(fileName)
        guard let (path, fileExtension) = parts else { return nil }
        let whole = SegmentName(path, fileExtension, channel, template)
        guard let name = whole ?? SegmentName(Self.withoutNumber(path), fileExtension, channel, template) else {
            return nil
        }
        self = name
    }

    private init?(_ path: Substring, _ fileExtension: String, _ channel: String, _ template: NameTemplate) {
        // A usual name in a directory that the template does not make is a copy that somebody keeps there.
        if !path.contains("/"), let name = SegmentName(standard: path, fileExtension), name.channel == channel {
            self = name
        } else if let reading = template.read(path, channel: channel) {
            self.init(String(path), channel, reading, fileExtension)
        } else {
            return nil
        }
    }

    /// The usual form, which says the channel itself.
    private init?(standard path: Substring, _ fileExtension: String) {
        let fileName = path.split(separator: "/", omittingEmptySubsequences: false).last ?? path
        let parts = fileName.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count >= 3 else { return nil }
        let channel = parts.dropLast(2).joined(separator: "_")
        guard !channel.isEmpty, let reading = NameTemplate.standard.read(fileName, channel: channel) else { return nil }
        self.init(String(path), channel, reading, fileExtension)
    }

    /// The path of a file that is open or closed, without its extension; nil if it has another extension.
    static func path(of fileName: String) -> Substring? { takeApart(fileName)?.path }

    /// Path and extension of a file that is open or closed; nil if it has another extension.
    private static func takeApart(_ fileName: String) -> (path: Substring, fileExtension: String)? {
        let closed = fileName.hasSuffix(openMark) ? fileName.dropLast(openMark.count) : Substring(fileName)
        guard let suffix = RecordFormat.allCases.map(\.fileExtension).first(where: closed.hasSuffix) else { return nil }
        return (closed.dropLast(suffix.count), suffix)
    }

    /// `path` without a hyphen and up to three digits at its end.
    private static func withoutNumber(_ path: Substring) -> Substring {
        guard let dash = path.lastIndex(of: "-") else { return path }
        let number = path[dash...].dropFirst()
        guard (1...3).contains(number.utf8.count), number.utf8.allSatisfy({ (48...57).contains($0) }) else {
            return path
        }
        return path[..<dash]
    }

    /// The path below the record directory, without an extension.
    package var description: String { path }
    /// The path of the file while it is being written.
    package var open: String { closed + Self.openMark }
    /// The path of the file when it is closed.
    package var closed: String { path + fileExtension }

    /// The path of the file when it is closed and `attempt` files already have the names it would have had.
    package func closed(attempt: Int) -> String { numbered(attempt).closed }

    /// The same name with a number behind it, unless that is 0.
    package func numbered(_ attempt: Int) -> SegmentName {
        let reading = NameTemplate.Reading(start: start, sequence: sequence)
        return SegmentName(attempt == 0 ? path : "\(path)-\(attempt)", channel, reading, fileExtension)
    }

    /// The channel that the recording of one of its sources has in names and in the catalogue.
    package static func channel(_ channel: String, source: String) -> String { "\(channel)-\(source)" }

    /// `channel` with everything but letters, digits, `.`, `-` and `_` replaced by `-`; a leading dot too.
    package static func safe(_ channel: String) -> String {
        let allowed = channel.unicodeScalars.prefix(100).map { scalar -> Character in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", ".", "-", "_": Character(scalar)
            default: "-"
            }
        }
        guard let first = allowed.first else { return "relay" }
        return (first == "." ? "-" : "") + String(allowed.drop { $0 == "." })
    }
}
