// SPDX-License-Identifier: Apache-2.0

internal import LibAV

/// The properties of an HLS playlist that are read from its beginning (RFC 8216).
struct PlaylistHead: Sendable, Hashable {
    /// The maximum plausible target duration, in seconds; a longer duration is regarded as a mistake, and ignored.
    private static let longestTarget: Int64 = 60

    /// The maximum duration of the playlist's segments (4.3.3.1); nil for a list of variants, or without a plausible
    /// value.
    private(set) var target: Duration?
    /// The address of the first variant, as written in the playlist (4.3.4.2); nil for a list of segments.
    private(set) var variant: String?
    /// The media sequence number of the playlist's first segment (4.3.3.2).
    private(set) var first: Int64 = 0
    /// The media sequence number that follows the playlist's last segment (4.3.3.2); nil for a list of variants.
    private(set) var end: Int64?
    /// The initialization sections of the segments (4.3.2.5), in the order of the playlist.
    private var sections: [Section] = []
    /// The media sequence numbers of the segments in front of which the playlist has a discontinuity (4.3.2.3).
    private var discontinuities: [Int64] = []

    /// An initialization section, as it is listed.
    private struct Section: Sendable, Hashable {
        let reference: Substring
        /// The offset of the section in its resource; nil if the section is the whole resource.
        let offset: Int64?
        /// The media sequence number of the first segment that needs the section.
        let first: Int64
    }

    /// Reads `text`, which can be cut off at its end; nil if it is not a playlist.
    init?(_ text: String) {
        let lines = text.split(whereSeparator: \.isNewline)
        guard lines.first?.hasPrefix("#EXTM3U") == true else { return nil }
        var isVariant = false
        var segments = Int64(0)
        for line in lines {
            first = Self.value(of: "#EXT-X-MEDIA-SEQUENCE:", in: line).flatMap { Int64($0) } ?? first
            if line.hasPrefix("#EXTINF:") { segments += 1 }
            if line == "#EXT-X-DISCONTINUITY" { discontinuities.append(first &+ segments) }
            if let section = Self.section(in: line, before: first &+ segments), !repeats(section) {
                sections.append(section)
            }
            if let value = Self.value(of: "#EXT-X-TARGETDURATION:", in: line).flatMap({ Int64($0) }),
                (1...Self.longestTarget).contains(value)
            {
                target = .seconds(value)
            }
            if isVariant, !line.hasPrefix("#"), variant == nil { variant = String(line) }
            isVariant = line.hasPrefix("#EXT-X-STREAM-INF:") || (isVariant && line.hasPrefix("#"))
        }
        if variant == nil { end = first &+ segments }
    }

    /// The number of the playlist's segments in front of those that need the initialization section at `address`. If
    /// several groups of segments need this section, the last group counts. Nil if the section is not listed, or if no
    /// segment needs it yet.
    func segments(before address: InitializationAddress) -> Int? {
        let section = sections.last { $0.offset == address.offset && Self.names($0.reference, address.url) }
        guard let section, let end, section.first < end else { return nil }
        return Int(exactly: section.first &- first)
    }

    /// The number of segments in front of the last change to another initialization section, or in front of the last
    /// discontinuity if that comes later; nil if the playlist has neither. All media playlists of an input change at
    /// the same segments, but each media playlist names its own sections. A media playlist whose section stays the same
    /// while that of another changes has a discontinuity there, as the other has (6.2.4).
    var segmentsBeforeLastChange: Int? {
        guard let end else { return nil }
        let changes = (sections.map(\.first) + discontinuities).filter { $0 > first && $0 < end }
        return changes.max().flatMap { Int(exactly: $0 &- first) }
    }

    /// Whether `reference` can mean the resource at `url`. `./` and `../` at the beginning of a relative reference are
    /// ignored, because libavformat has already resolved them in `url`.
    private static func names(_ reference: Substring, _ url: String) -> Bool {
        var rest = reference
        while let folder = ["./", "../"].first(where: { rest.hasPrefix($0) }) { rest = rest.dropFirst(folder.count) }
        if rest.isEmpty { return false }
        return rest.hasPrefix("/") || rest.contains("://") ? url.hasSuffix(rest) : url.hasSuffix("/\(rest)")
    }

    /// The initialization section that `line` names for the segments from `number` on; nil if it names none.
    private static func section(in line: Substring, before number: Int64) -> Section? {
        guard let attributes = value(of: "#EXT-X-MAP:", in: line), let uri = quoted("URI", in: attributes) else {
            return nil
        }
        // The form is `BYTERANGE="length@offset"`. The offset is omitted if the section begins with the resource's
        // first byte.
        let range = quoted("BYTERANGE", in: attributes)
        let offset = range.map { range in
            range.firstIndex(of: "@").flatMap { Int64(range[range.index(after: $0)...]) } ?? 0
        }
        return Section(reference: uri, offset: offset, first: number)
    }

    /// The value of the attribute `name`, a string in quotes.
    private static func quoted(_ name: String, in attributes: Substring) -> Substring? {
        guard let mark = attributes.firstRange(of: name + "=\"") else { return nil }
        return attributes[mark.upperBound...].prefix { $0 != "\"" }
    }

    /// Whether `section` is the same initialization section as the last one in ``sections``.
    private func repeats(_ section: Section) -> Bool {
        sections.last.map { $0.reference == section.reference && $0.offset == section.offset } ?? false
    }

    private static func value(of tag: String, in line: Substring) -> Substring? {
        line.hasPrefix(tag) ? line.dropFirst(tag.count) : nil
    }

    /// Returns the absolute address of `reference`, which occurs in a playlist that was read from `base`; nil if
    /// neither of them contains `://`. The rules are those of RFC 3986, 5.2, except that dots in paths are left to the
    /// server.
    static func resolve(_ reference: String, in base: String) -> String? {
        if isAbsolute(reference) { return reference }
        let plain = base.prefix { $0 != "?" && $0 != "#" }
        guard let mark = plain.firstRange(of: "://") else { return nil }
        let authority = plain[mark.upperBound...].prefix { $0 != "/" }
        if reference.hasPrefix("//") { return plain[..<mark.lowerBound] + ":" + reference }
        if reference.hasPrefix("?") { return plain + reference }
        if reference.hasPrefix("/") { return plain[..<authority.endIndex] + reference }
        let path = plain[authority.endIndex...]
        let folder = path.lastIndex(of: "/").map { plain[...$0] } ?? plain + "/"
        return folder + reference
    }

    /// Whether `reference` begins with a scheme. A query can contain `://`, too.
    private static func isAbsolute(_ reference: String) -> Bool {
        guard let mark = reference.firstRange(of: "://") else { return false }
        return reference[..<mark.lowerBound].allSatisfy {
            $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0))
        }
    }
}
