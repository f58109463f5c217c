// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Measures how much of one track came, by its own timestamps, while the other track was silent.
struct TrackProgress {
    /// In nanoseconds. A hole in the track's own timestamps counts as at most ``longestStep``, because the other track
    /// may have the same hole.
    var passed: Int64 = 0
    private var newest: Int64?
    private static let longestStep: Int64 = 1_000_000_000

    /// Takes the next packet of the track.
    mutating func note(_ packet: EncodedPacket) {
        let time = packet.dtsNanoseconds
        if let newest { passed += min(max(0, time - newest), Self.longestStep) }
        newest = time
    }
}
