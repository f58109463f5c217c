// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media
internal import SourceClock

/// The properties of an HLS playlist that its first lines show (RFC 8216).
struct PlaylistHead: Sendable, Hashable {
    /// The maximum plausible target duration, in seconds; a longer one is regarded as a mistake, and ignored.
    private static let longestTarget: Int64 = 60

    /// The maximum duration of the playlist's segments (4.3.3.1); nil for a list of variants.
    private(set) var target: Duration?
    /// The address of the first variant, as written in the playlist (4.3.4.2); nil for a list of segments.
    private(set) var variant: String?
    /// The media sequence number that follows the playlist's last segment (4.3.3.2); nil for a list of variants.
    private(set) var end: Int64?

    /// Reads `text`, which can be cut off at its end; nil if it is not a playlist.
    init?(_ text: String) {
        let lines = text.split(whereSeparator: \.isNewline)
        guard lines.first?.hasPrefix("#EXTM3U") == true else { return nil }
        var isVariant = false
        var (first, segments) = (Int64(0), Int64(0))
        for line in lines {
            first = Self.value(of: "#EXT-X-MEDIA-SEQUENCE:", in: line).flatMap { Int64($0) } ?? first
            if line.hasPrefix("#EXTINF:") { segments += 1 }
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

    private static func value(of tag: String, in line: Substring) -> Substring? {
        line.hasPrefix(tag) ? line.dropFirst(tag.count) : nil
    }

    /// Returns the absolute address of `reference`, which occurs in a playlist that was read from `base`. `base` must
    /// contain `//`. The rules are those of RFC 3986, 5.2, except that dots in paths are left to the server.
    static func resolve(_ reference: String, in base: String) -> String? {
        if reference.contains("://") { return reference }
        let plain = base.prefix { $0 != "?" && $0 != "#" }
        guard let mark = plain.firstRange(of: "://") else { return nil }
        let authority = plain[mark.upperBound...].prefix { $0 != "/" }
        if reference.hasPrefix("//") { return plain[..<mark.lowerBound] + ":" + reference }
        if reference.hasPrefix("/") { return plain[..<authority.endIndex] + reference }
        let path = plain[authority.endIndex...]
        let folder = path.lastIndex(of: "/").map { plain[...$0] } ?? plain + "/"
        return folder + reference
    }
}

extension InputLocation {
    /// The maximum number of bytes that are read of a playlist.
    private static let headBytes = 64 << 10

    /// Returns the maximum duration of the segments of the playlist at this address; nil if the input has no segments.
    /// libavformat has opened the playlist as `formatName` without reporting that duration. Sends one or two more
    /// requests to the server, which take at most 3 s each. Blocks until the server has answered or `interrupter`
    /// interrupts the call.
    @Sendable func targetDuration(_ formatName: String, _ interrupter: Interrupter) -> Duration? {
        guard SourceClockSettings.isPlaylist(formatName: formatName) else { return nil }
        // Only HLS playlists are read; for DASH the usual duration is assumed.
        let isHLS = formatName.split(separator: ",").contains("hls")
        return (isHLS ? mediaPlaylist(interrupter)?.head.target : nil) ?? SourceClockSettings.usualTarget
    }

    /// Returns the media sequence number that the next segment of the playlist at this address will have; nil if the
    /// number is not known. Blocks for at most 6 s.
    @Sendable func playlistEnd(_ interrupter: Interrupter) -> Int64? {
        // If the playlist is longer than the limit, only its beginning was read, so its end is not known.
        mediaPlaylist(interrupter).flatMap { $0.isWhole ? $0.head.end : nil }
    }

    /// Reads the beginning of the list of segments at this address. If the address is a list of variants, reads the
    /// list of its first variant. `isWhole` is true if the list was read completely.
    private func mediaPlaylist(_ interrupter: Interrupter) -> (head: PlaylistHead, isWhole: Bool)? {
        guard case .url(_, let text) = place, let start = text.firstRange(of: "http") else { return nil }
        let url = String(text[start.lowerBound...])
        let list = playlist(url, interrupter)
        guard let variant = list?.head.variant else { return list }
        return PlaylistHead.resolve(variant, in: url).flatMap { playlist($0, interrupter) }
    }

    private func playlist(_ url: String, _ interrupter: Interrupter) -> (head: PlaylistHead, isWhole: Bool)? {
        let resource = try? ResourceHead(
            of: url, headers: connection.httpHeaders, limit: Self.headBytes, timeout: .seconds(3),
            interrupter: interrupter, subject: description)
        guard let resource, let head = PlaylistHead(String(decoding: resource.bytes, as: UTF8.self)) else { return nil }
        return (head, resource.bytes.count < Self.headBytes)
    }
}
