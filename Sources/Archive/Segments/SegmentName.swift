// SPDX-License-Identifier: Apache-2.0

/// The name of a recording's file. The standard form is `<channel>_<UTC start>_<sequence>`; a ``NameTemplate`` can
/// define another form. The names of one channel sort by time if they have the standard form.
package struct SegmentName: Sendable, Hashable, CustomStringConvertible {
    /// The channel, in characters that are safe in a file name.
    package let channel: String
    /// The start in ISO 8601 basic format with milliseconds; empty if the name was parsed and does not contain it.
    package let start: String
    /// The file's number within the channel and directory; 0 if the name was parsed and does not contain it.
    package let sequence: Int
    /// The path below the record directory, without an extension.
    let path: String
    /// The extension of the closed file, with its dot.
    package let fileExtension: String

    /// The suffix, after the extension, of a file that is being written.
    package static let openMark = ".part"
    /// The extension of a file that recovery could not use.
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

    /// Reads the name of an open or closed file, in any directory, if it has the standard form; otherwise nil.
    package init?(fileName: String) {
        guard let (path, fileExtension) = Self.takeApart(fileName) else { return nil }
        self.init(standard: path, fileExtension)
    }

    /// The name of any open or closed file, in any form; nil if recordings do not have its extension.
    init?(anyName fileName: String) {
        guard let (path, fileExtension) = Self.takeApart(fileName) else { return nil }
        self.init(String(path), "", NameTemplate.Reading(), fileExtension)
    }

    /// Reads the name of an open or closed file of `channel`, if it has the standard form or is made by `template`;
    /// otherwise nil.
    package init?(fileName: String, channel: String, template: NameTemplate) {
        guard let (path, fileExtension) = Self.takeApart(fileName) else { return nil }
        self.init(path, fileExtension, channel, template)
    }

    /// Reads the name of any file of `channel` that has used a sequence number. The file can be open, closed, or set
    /// aside by recovery, and its name can end with a number that was appended because the original name was taken.
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
        // The template is tried first: a name that begins like a standard name can have more digits after its number.
        if let reading = template.read(path, channel: channel) {
            self.init(String(path), channel, reading, fileExtension)
        } else if !path.contains("/"), let name = SegmentName(standard: path, fileExtension), name.channel == channel {
            // A standard name counts only in the record directory itself. In a subdirectory that the template does not
            // make, a file with a standard name is a copy that an operator keeps there.
            self = name
        } else {
            return nil
        }
    }

    /// Reads a name in the standard form, which contains the channel.
    private init?(standard path: Substring, _ fileExtension: String) {
        let fileName = path.split(separator: "/", omittingEmptySubsequences: false).last ?? path
        let parts = fileName.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count >= 3 else { return nil }
        let channel = parts.dropLast(2).joined(separator: "_")
        guard !channel.isEmpty, let reading = NameTemplate.standard.read(fileName, channel: channel) else { return nil }
        self.init(String(path), channel, reading, fileExtension)
    }

    /// Returns the path of an open or closed file without its extension; nil if recordings do not have this extension.
    static func path(of fileName: String) -> Substring? { takeApart(fileName)?.path }

    /// Returns the path and the extension of an open or closed file; nil if recordings do not have this extension.
    private static func takeApart(_ fileName: String) -> (path: Substring, fileExtension: String)? {
        let closed = fileName.hasSuffix(openMark) ? fileName.dropLast(openMark.count) : Substring(fileName)
        guard let suffix = RecordFormat.allCases.map(\.fileExtension).first(where: closed.hasSuffix) else { return nil }
        return (closed.dropLast(suffix.count), suffix)
    }

    /// Returns `path` without a hyphen and up to three digits at its end.
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

    /// Returns the path of the closed file with the number `attempt` appended. It is needed if the path without a
    /// number, and the paths with smaller numbers, are already taken.
    package func closed(attempt: Int) -> String { numbered(attempt).closed }

    /// Returns the same name with the number `attempt` appended, unless the number is 0.
    package func numbered(_ attempt: Int) -> SegmentName {
        let reading = NameTemplate.Reading(start: start, sequence: sequence)
        return SegmentName(attempt == 0 ? path : "\(path)-\(attempt)", channel, reading, fileExtension)
    }

    /// Returns the channel under which the recording of a single source appears in names and in the catalogue.
    package static func channel(_ channel: String, source: String) -> String { "\(channel)-\(source)" }

    /// Returns the first 100 characters of `channel`, with `-` in place of each one that is not an ASCII letter, a
    /// digit, `.`, `-` or `_`. A `-` also replaces the dots at the beginning. Returns `relay` if `channel` is empty.
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
