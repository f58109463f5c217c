// SPDX-License-Identifier: Apache-2.0

/// The name of a recording's file: `<channel>_<UTC start>_<sequence>`. Names of one channel sort by time.
public struct SegmentName: Sendable, Hashable, CustomStringConvertible {
    /// The channel, in characters that are safe in a file name.
    public let channel: String
    /// The start in ISO 8601 basic format with milliseconds.
    public let start: String
    /// Counts up over the files of a channel in a directory; six digits at least.
    public let sequence: Int

    /// The extension of a file that is being written.
    static let openSuffix = ".mp4.part"
    /// The extension of a closed file.
    static let closedSuffix = ".mp4"
    /// The extension of a file that recovery could make nothing of.
    static let brokenSuffix = ".broken"

    /// A name for a file of `channel` that starts at `start`.
    public init(channel: String, start: UTCTime, sequence: Int) {
        self.channel = Self.safe(channel)
        self.start = start.basic
        self.sequence = sequence
    }

    /// Reads the name of a file that is open or closed; nil if this module did not make it.
    public init?(fileName: String) {
        let suffix = [Self.openSuffix, Self.closedSuffix].first { fileName.hasSuffix($0) }
        guard let suffix else { return nil }
        let parts = fileName.dropLast(suffix.count).split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count >= 3, let number = parts.last, let time = parts.dropLast().last else { return nil }
        let channel = parts.dropLast(2).joined(separator: "_")
        guard !channel.isEmpty, number.utf8.count >= 6, number.utf8.count <= 18,
            number.utf8.allSatisfy({ (48...57).contains($0) }), let sequence = Int(number), Self.isTime(time)
        else { return nil }
        self.channel = channel
        self.start = String(time)
        self.sequence = sequence
    }

    /// The name without an extension.
    public var description: String { "\(channel)_\(start)_\(UTCTime.pad(sequence, 6))" }
    /// The name of the file while it is being written.
    public var open: String { description + Self.openSuffix }
    /// The name of the file when it is closed.
    public var closed: String { description + Self.closedSuffix }

    /// The name of the file when it is closed and `attempt` files already have the names it would have had.
    func closed(attempt: Int) -> String { attempt == 0 ? closed : "\(self)-\(attempt)\(Self.closedSuffix)" }

    /// Reads the name of any file that has used up a sequence number: open, closed, set aside, or with a number behind
    /// it because its name was taken.
    init?(usedBy fileName: String) {
        let suffix = [Self.openSuffix, Self.closedSuffix, Self.brokenSuffix].first { fileName.hasSuffix($0) }
        guard let suffix else { return nil }
        var stem = fileName.dropLast(suffix.count)
        if let dash = stem.lastIndex(of: "-"), dash > (stem.lastIndex(of: "_") ?? stem.startIndex) {
            let number = stem[dash...].dropFirst()
            guard (1...3).contains(number.utf8.count), number.utf8.allSatisfy({ (48...57).contains($0) }) else {
                return nil
            }
            stem = stem[..<dash]
        }
        self.init(fileName: stem + Self.closedSuffix)
    }

    /// `channel` with everything but letters, digits, `.`, `-` and `_` replaced by `-`; a leading dot too.
    public static func safe(_ channel: String) -> String {
        let allowed = channel.unicodeScalars.prefix(100).map { scalar -> Character in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", ".", "-", "_": Character(scalar)
            default: "-"
            }
        }
        guard let first = allowed.first else { return "relay" }
        return (first == "." ? "-" : "") + String(allowed.drop { $0 == "." })
    }

    /// `20261121T140310.123Z`: digits where digits belong.
    private static func isTime(_ text: Substring) -> Bool {
        let pattern = Array("00000000T000000.000Z".utf8)
        let bytes = Array(text.utf8)
        guard bytes.count == pattern.count else { return false }
        return zip(bytes, pattern).allSatisfy { byte, model in model == 48 ? (48...57).contains(byte) : byte == model }
    }
}
