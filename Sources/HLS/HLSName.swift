// SPDX-License-Identifier: Apache-2.0

/// The names of the files of an HLS output. relay never deletes files with other names.
///
/// A run is a series of segments with one header. Its number is the time at which it began. File names are therefore
/// unique, and a cache never returns an old file under a new name.
enum HLSName {
    /// The name of the playlist.
    static let playlist = "index.m3u8"
    /// The suffix of the temporary name of a file that is being written.
    static let temporarySuffix = ".tmp"

    /// The name of the header for a series of segments. The number `run` identifies the series; it is the time at which
    /// the series began, in microseconds since 1970.
    static func map(run: Int64) -> String { "relay-\(run)-init.mp4" }

    /// The name of the segment `number` in the series of segments that `run` identifies.
    static func segment(run: Int64, number: Int64) -> String { "relay-\(run)-\(number).m4s" }

    /// Whether `name` is the name of a header or segment that relay makes, complete or temporary.
    static func isOurs(_ name: String) -> Bool {
        guard name.utf8.count <= 80 else { return false }
        let whole = name.hasSuffix(temporarySuffix) ? name.dropLast(temporarySuffix.count) : Substring(name)
        let parts = whole.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "relay", isNumber(parts[1]) else { return false }
        if parts[2] == "init.mp4" { return true }
        return parts[2].hasSuffix(".m4s") && isNumber(parts[2].dropLast(4))
    }

    /// Whether `name`, which is one of relay's names, is the name of a complete segment.
    static func isSegment(_ name: String) -> Bool { name.hasSuffix(".m4s") }

    /// Whether `name`, which is one of relay's names, is the name of a complete header.
    static func isMap(_ name: String) -> Bool { name.hasSuffix("-init.mp4") }

    /// The number in `name` that identifies the series of segments. `name` must be one of relay's names.
    static func run(of name: String) -> Substring? {
        name.split(separator: "-", omittingEmptySubsequences: false).dropFirst().first
    }

    private static func isNumber(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
