// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media
internal import SourceClock

/// What the beginning of an HLS playlist says (RFC 8216).
struct PlaylistHead: Sendable, Hashable {
    /// Target durations beyond this are taken for a mistake.
    private static let longestTarget: Int64 = 60

    /// How long its segments last at most (4.3.3.1); nil for a list of variants.
    private(set) var target: Duration?
    /// The address of its first variant as it is written (4.3.4.2); nil for a list of segments.
    private(set) var variant: String?
    /// The media sequence number behind its last segment (4.3.3.2); nil for a list of variants.
    private(set) var end: Int64?

    /// Reads `text`, of which the end may be missing; nil if it is no playlist.
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

    /// The address that `reference` means in what was read from `base`, an address with `//` (RFC 3986, 5.2, without
    /// dots in paths, which servers understand).
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
    /// What is read of a playlist at most.
    private static let headBytes = 64 << 10

    /// How long segments last at most of what libavformat has opened here as `formatName`, and tells nothing about; nil if
    /// it has none. Asks the server once or twice more, for 3 s each at most. Blocks; `interrupter` ends it.
    @Sendable func targetDuration(_ formatName: String, _ interrupter: Interrupter) -> Duration? {
        guard SourceClockSettings.isPlaylist(formatName: formatName) else { return nil }
        // What a list for DASH says is not read.
        let isHLS = formatName.split(separator: ",").contains("hls")
        return (isHLS ? mediaPlaylist(interrupter)?.head.target : nil) ?? SourceClockSettings.usualTarget
    }

    /// The number of the segment that comes next in the playlist here; nil if that is not known. Blocks for 6 s at most.
    @Sendable func playlistEnd(_ interrupter: Interrupter) -> Int64? {
        // The end of a longer one was not read.
        mediaPlaylist(interrupter).flatMap { $0.isWhole ? $0.head.end : nil }
    }

    /// The beginning of the list of segments here, or of the first one that a list of variants names, and whether that is
    /// all of it.
    private func mediaPlaylist(_ interrupter: Interrupter) -> (head: PlaylistHead, isWhole: Bool)? {
        guard case .url(_, let text) = place, let start = text.firstRange(of: "http") else { return nil }
        let url = String(text[start.lowerBound...])
        let list = playlist(url, interrupter)
        guard let variant = list?.head.variant else { return list }
        return PlaylistHead.resolve(variant, in: url).flatMap { playlist($0, interrupter) }
    }

    private func playlist(_ url: String, _ interrupter: Interrupter) -> (head: PlaylistHead, isWhole: Bool)? {
        let resource = try? ResourceHead(
            of: url, limit: Self.headBytes, timeout: .seconds(3), interrupter: interrupter, subject: description)
        guard let resource, let head = PlaylistHead(String(decoding: resource.bytes, as: UTF8.self)) else { return nil }
        return (head, resource.bytes.count < Self.headBytes)
    }
}
