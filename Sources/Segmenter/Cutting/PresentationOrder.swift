// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Tracks frames in decoding order, and knows where a file can end so that no frames are missing in presentation order.
struct PresentationOrder {
    /// The number of pending frames that must be written so that, together with all frames on disk, none is missing in
    /// presentation order. Nil if frames are missing among those on disk, and must come from the pending or future
    /// frames.
    private(set) var wholePrefix: Int? = 0

    /// Before this time no frame is missing, in ticks of the packets.
    private var front: Int64?
    /// The frames after a missing frame: end time by start time.
    private var ahead: [Int64: Int64] = [:]

    /// More frames than any decoder can reorder (H.264, A.3.1: 16 frames). If this many frames wait for a missing
    /// frame, the program itself does not contain it.
    private static let depth = 32

    /// Adds pending frame number `count`, counted from 1.
    mutating func append(_ packet: EncodedPacket, count: Int) {
        ahead[packet.pts] = packet.pts + max(1, packet.duration)
        if front == nil { front = packet.pts }
        if ahead.count > Self.depth { front = ahead.keys.min() }
        // A difference of half a frame is a rounding error, and no frame is missing.
        let tolerance = packet.duration / 2
        while let next = ahead.keys.first(where: { $0 - tolerance <= front ?? $0 }) {
            front = max(front ?? next, ahead.removeValue(forKey: next) ?? next)
        }
        if ahead.isEmpty { wholePrefix = count }
    }

    /// Records that the frames of ``wholePrefix`` are on disk.
    mutating func wrotePrefix() { wholePrefix = 0 }

    /// Records that all pending frames are on disk.
    mutating func wrote() { wholePrefix = ahead.isEmpty ? 0 : nil }
}
