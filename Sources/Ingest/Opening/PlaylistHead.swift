// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media
internal import SourceClock

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

extension InputLocation {
    /// The maximum number of bytes that are read of a playlist.
    private static let headBytes = 64 << 10

    /// Returns the maximum duration of the segments of the playlist at this address; nil if the input has no segments.
    /// libavformat has opened the playlist as `formatName` without reporting that duration. For HLS, sends one or two
    /// more requests to the server, which take at most 3 s each. For an input with headers, the requests that find
    /// unknown redirections come in addition. Blocks until the server has answered or `interrupter` interrupts the
    /// call. If the duration remains unknown, returns ``SourceClockSettings/usualTarget``.
    func targetDuration(
        _ formatName: String, _ redirections: KnownRedirections, _ interrupter: Interrupter
    ) -> Duration? {
        guard SourceClockSettings.isPlaylist(formatName: formatName) else { return nil }
        // Only HLS playlists are read; for DASH the usual duration is assumed.
        let isHLS = formatName.split(separator: ",").contains("hls")
        return (isHLS ? mediaPlaylist(redirections, interrupter)?.head.target : nil) ?? SourceClockSettings.usualTarget
    }

    /// Returns the media sequence number that the next segment of the playlist at this address will have; nil if the
    /// number is not known. Blocks for at most 6 s, or longer if redirections are unknown.
    func playlistEnd(_ redirections: KnownRedirections, _ interrupter: Interrupter) -> Int64? {
        wholePlaylist(redirections, interrupter)?.end
    }

    /// Returns the playlist at this address; nil if it cannot be read completely. Blocks for at most 6 s, or longer if
    /// redirections are unknown.
    func wholePlaylist(_ redirections: KnownRedirections, _ interrupter: Interrupter) -> PlaylistHead? {
        // If the playlist is longer than the limit, only its beginning was read, so its end is not known.
        mediaPlaylist(redirections, interrupter).flatMap { $0.isWhole ? $0.head : nil }
    }

    /// Returns the value of libavformat's option `live_start_index` with which the playlist at this address begins with
    /// the segments that need one of the initialization sections at `addresses`. A section that is not listed belongs
    /// to another variant, or to the audio: if no section is listed, the playlist begins at the last change, or with
    /// the last segment if no change is listed or the playlist cannot be read. Blocks for at most 6 s, or longer if
    /// redirections are unknown.
    func startIndex(
        at addresses: [InitializationAddress], _ redirections: KnownRedirections, _ interrupter: Interrupter
    ) -> Int {
        guard let head = mediaPlaylist(redirections, interrupter)?.head else { return -1 }
        return addresses.lazy.compactMap { head.segments(before: $0) }.first ?? head.segmentsBeforeLastChange ?? -1
    }

    /// Reads the beginning of the list of segments at this address. If the address is a list of variants, reads the
    /// list of its first variant.
    private func mediaPlaylist(_ redirections: KnownRedirections, _ interrupter: Interrupter) -> ReadPlaylist? {
        guard case .url(_, let text) = place, let start = text.firstRange(of: "http") else { return nil }
        let list = playlist(String(text[start.lowerBound...]), hasHeaders: true, redirections, interrupter)
        guard let list, let variant = list.head.variant, let own = PlaylistHead.resolve(variant, in: list.url) else {
            return list
        }
        // A variant that is not at an HTTP address is not read. libavformat does not read it, either.
        guard HTTPRedirection.isHTTP(own) else { return nil }
        let hasHeaders = list.hasHeaders && ServerAddress(list.url)?.mayGetHeaders(at: own) == true
        return playlist(own, hasHeaders: hasHeaders, redirections, interrupter)
    }

    /// Reads the beginning of the playlist at `address`. `hasHeaders` is true if the input's headers may be sent there.
    private func playlist(
        _ address: String, hasHeaders: Bool, _ redirections: KnownRedirections, _ interrupter: Interrupter
    ) -> ReadPlaylist? {
        let found = hasHeaders ? redirection(of: address, redirections, interrupter) : nil
        let (url, keepsHeaders) = (found?.url ?? address, found?.keepsHeaders ?? false)
        let resource = try? ResourceHead(
            of: url, headers: keepsHeaders ? connection.httpHeaders : nil, limit: Self.headBytes, timeout: .seconds(3),
            interrupter: interrupter, subject: description)
        guard let resource, let head = PlaylistHead(String(decoding: resource.bytes, as: UTF8.self)) else { return nil }
        return ReadPlaylist(
            head: head, isWhole: resource.bytes.count < Self.headBytes, url: url, hasHeaders: keepsHeaders)
    }
}

/// A playlist whose beginning was read.
private struct ReadPlaylist {
    let head: PlaylistHead
    /// Whether the playlist was read completely.
    let isWhole: Bool
    /// The playlist's address, after all redirections.
    let url: String
    /// Whether the input's headers may be sent to ``url``.
    let hasHeaders: Bool
}
