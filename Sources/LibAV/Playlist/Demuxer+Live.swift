// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

extension Demuxer {
    /// The initialization sections at which media playlists of the input ended, because the segments that follow are
    /// coded in another way; empty as long as no media playlist has ended in this way. A new demuxer can continue with
    /// these segments.
    package var nextInitializations: [InitializationAddress] { resources?.initializations?.refused ?? [] }

    /// Whether the streams come from different playlists: libavformat's `hls` demuxer makes the playlist's number the
    /// id of its streams.
    var hasSeveralPlaylists: Bool {
        Set((0..<Int(context.pointee.nb_streams)).compactMap { context.pointee.streams?[$0]?.pointee.id }).count > 1
    }

    /// Limits how much of a live FLV stream is probed, in microseconds of media. Most streams send their tracks'
    /// headers at the beginning. A track that begins later is found by ``kindOfLateStream(_:beside:)``.
    private static let briefProbe: Int64 = 2_000_000

    /// Shortens the probing of a live FLV stream, which may announce a track that never begins: libavformat ends
    /// probing early only if FLV has two tracks. A file on an HTTP server is not live: it has a size, and the server
    /// lets clients seek in it. Some servers also let clients seek in a live stream; they do not state a size for it.
    static func shortenProbeOfFLV(_ context: UnsafeMutablePointer<AVFormatContext>) {
        let isFLV = formatName(of: context).split(separator: ",").contains { $0 == "flv" || $0 == "live_flv" }
        guard isFLV, let bytes = context.pointee.pb,
            bytes.pointee.seekable & AVIO_SEEKABLE_NORMAL == 0 || avio_size(bytes) < 0
        else { return }
        context.pointee.max_analyze_duration = briefProbe
    }
}
