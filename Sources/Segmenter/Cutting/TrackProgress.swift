// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Measures how much of one track has come, by its own timestamps, while the other track was silent.
struct TrackProgress {
    /// The amount in nanoseconds. A gap in the track's own timestamps counts as at most ``longestStep``, because the
    /// other track may have the same gap.
    var passed: Int64 = 0
    private var newest: Int64?
    private static let longestStep: Int64 = 1_000_000_000

    /// Counts the next packet of the track.
    mutating func note(_ packet: EncodedPacket) {
        let time = packet.dtsNanoseconds
        if let newest { passed += min(max(0, time - newest), Self.longestStep) }
        newest = time
    }
}
