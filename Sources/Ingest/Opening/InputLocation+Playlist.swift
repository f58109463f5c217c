// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media
internal import SourceClock

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
