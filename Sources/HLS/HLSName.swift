// SPDX-License-Identifier: Apache-2.0

/// The file names of an HLS output. Files with other names are never removed.
///
/// A run is one attempt; its number is its start time, so that names are unique and caches never return an old file.
enum HLSName {
    /// The playlist.
    static let playlist = "index.m3u8"
    /// The suffix of a file that is being written.
    static let temporarySuffix = ".tmp"

    /// The header of the run `run`, in microseconds since 1970.
    static func map(run: Int64) -> String { "relay-\(run)-init.mp4" }

    /// The name of segment `number` of the run `run`.
    static func segment(run: Int64, number: Int64) -> String { "relay-\(run)-\(number).m4s" }

    /// Whether `name` is the name of a header or segment of relay, complete or temporary.
    static func isOurs(_ name: String) -> Bool {
        guard name.utf8.count <= 80 else { return false }
        let whole = name.hasSuffix(temporarySuffix) ? name.dropLast(temporarySuffix.count) : Substring(name)
        let parts = whole.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "relay", isNumber(parts[1]) else { return false }
        if parts[2] == "init.mp4" { return true }
        return parts[2].hasSuffix(".m4s") && isNumber(parts[2].dropLast(4))
    }

    /// Whether `name`, one of relay's names, belongs to a complete segment.
    static func isSegment(_ name: String) -> Bool { name.hasSuffix(".m4s") }

    /// Whether `name`, one of relay's names, belongs to a complete header.
    static func isMap(_ name: String) -> Bool { name.hasSuffix("-init.mp4") }

    /// The run in `name`, one of relay's names.
    static func run(of name: String) -> Substring? {
        name.split(separator: "-", omittingEmptySubsequences: false).dropFirst().first
    }

    private static func isNumber(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
