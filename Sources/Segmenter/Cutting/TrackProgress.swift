// SPDX-License-Identifier: Apache-2.0

internal import Media

/// How much of a track came while the other track did not, by its own times.
struct TrackProgress {
    /// Nanoseconds. A hole in the track's own times counts as ``longestStep``, because the other one may have it, too.
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
