// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media
internal import SourceClock

/// The properties of an HLS playlist that are found at its beginning (RFC 8216).
struct PlaylistHead: Sendable, Hashable {
    /// Longer target durations are regarded as a mistake, and ignored.
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

    /// The absolute address of `reference` in a playlist that was read from `base`, an address with `//` (RFC 3986,
    /// 5.2, except that dots in paths are left to servers).
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

    /// The maximum duration of the segments of the playlist at this address, which libavformat has opened as
    /// `formatName` without reporting that duration; nil if the input has no segments. Sends one or two more requests
    /// to the server, which take at most 3 s each. Blocks until the server has answered or `interrupter` interrupts it.
    @Sendable func targetDuration(_ formatName: String, _ interrupter: Interrupter) -> Duration? {
        guard SourceClockSettings.isPlaylist(formatName: formatName) else { return nil }
        // Only HLS playlists are read; for DASH the usual duration is assumed.
        let isHLS = formatName.split(separator: ",").contains("hls")
        return (isHLS ? mediaPlaylist(interrupter)?.head.target : nil) ?? SourceClockSettings.usualTarget
    }

    /// The media sequence number that the next segment of the playlist at this address will have; nil if it is not
    /// known. Blocks for 6 s at most.
    @Sendable func playlistEnd(_ interrupter: Interrupter) -> Int64? {
        // The end of a playlist that is longer than the limit is not known, because only the beginning was read.
        mediaPlaylist(interrupter).flatMap { $0.isWhole ? $0.head.end : nil }
    }

    /// The beginning of the list of segments at this address, or of the first list that a list of variants names, and
    /// whether it was read completely.
    private func mediaPlaylist(_ interrupter: Interrupter) -> (head: PlaylistHead, isWhole: Bool)? {
        guard case .url(_, let text) = place, let start = text.firstRange(of: "http") else { return nil }
        let address = String(text[start.lowerBound...])
        let found = redirection(of: address, interrupter)
        let (url, keepsHeaders) = (found?.url ?? address, found?.keepsHeaders ?? false)
        let list = playlist(url, keepsHeaders, interrupter)
        guard let variant = list?.head.variant, let own = PlaylistHead.resolve(variant, in: url) else { return list }
        return playlist(own, keepsHeaders && HeaderGuard.isSameServer(url, own), interrupter)
    }

    private func playlist(
        _ url: String, _ keepsHeaders: Bool, _ interrupter: Interrupter
    ) -> (head: PlaylistHead, isWhole: Bool)? {
        let resource = try? ResourceHead(
            of: url, headers: keepsHeaders ? connection.httpHeaders : nil, limit: Self.headBytes, timeout: .seconds(3),
            interrupter: interrupter, subject: description)
        guard let resource, let head = PlaylistHead(String(decoding: resource.bytes, as: UTF8.self)) else { return nil }
        return (head, resource.bytes.count < Self.headBytes)
    }
}
