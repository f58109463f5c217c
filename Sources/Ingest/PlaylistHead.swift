// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// What the beginning of an HLS playlist says (RFC 8216).
struct PlaylistHead: Sendable, Hashable {
    /// Target durations beyond this are taken for a mistake.
    private static let longestTarget: Int64 = 60

    /// How long its segments last at most (4.3.3.1); nil for a list of variants.
    private(set) var target: Duration?
    /// The address of its first variant as it is written (4.3.4.2); nil for a list of segments.
    private(set) var variant: String?

    /// Reads `text`, of which the end may be missing; nil if it is no playlist.
    init?(_ text: String) {
        let lines = text.split(whereSeparator: \.isNewline)
        guard lines.first?.hasPrefix("#EXTM3U") == true else { return nil }
        var isVariant = false
        for line in lines {
            if let value = Self.value(of: "#EXT-X-TARGETDURATION:", in: line).flatMap({ Int64($0) }),
                (1...Self.longestTarget).contains(value)
            {
                target = .seconds(value)
            }
            if isVariant, !line.hasPrefix("#"), variant == nil { variant = String(line) }
            isVariant = line.hasPrefix("#EXT-X-STREAM-INF:") || (isVariant && line.hasPrefix("#"))
        }
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
    /// What a playlist's beginning takes at most.
    private static let headBytes = 64 << 10

    /// How long segments last at most of the playlist that `demuxer` has opened here, of which libavformat tells nothing;
    /// nil if it is none or does not say. Asks the server once or twice more, for 3 s each at most. Blocks.
    func playlistTarget(_ demuxer: Demuxer, monitor: SourceMonitor) -> Duration? {
        guard demuxer.formatName.split(separator: ",").contains("hls"), case .url(_, let text) = place,
            let start = text.firstRange(of: "http")
        else { return nil }
        let url = String(text[start.lowerBound...])
        guard let head = playlistHead(url, monitor) else { return nil }
        if let target = head.target { return target }
        guard let variant = head.variant, let address = PlaylistHead.resolve(variant, in: url) else { return nil }
        return playlistHead(address, monitor)?.target
    }

    private func playlistHead(_ url: String, _ monitor: SourceMonitor) -> PlaylistHead? {
        let head = try? ResourceHead(
            of: url, limit: Self.headBytes, timeout: .seconds(3), interrupter: monitor.interrupter,
            subject: description)
        return head.flatMap { PlaylistHead(String(decoding: $0.bytes, as: UTF8.self)) }
    }
}
