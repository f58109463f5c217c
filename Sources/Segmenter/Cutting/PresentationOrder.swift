// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Follows frames in decoding order and knows where a file could end without a hole in presentation order.
struct PresentationOrder {
    /// The number of pending frames that, together with all frames on disk, leave no hole; nil if the frames on disk
    /// already have a hole that a pending or future frame must fill.
    private(set) var wholePrefix: Int? = 0

    /// No frame is missing before this time, in ticks of the packets.
    private var front: Int64?
    /// The frames after a hole: end time by start time.
    private var ahead: [Int64: Int64] = [:]

    /// More frames than any decoder can reorder (H.264, A.3.1: 16 frames); if this many wait, the hole is in the
    /// program itself.
    private static let depth = 32

    /// Takes pending frame number `count`, counted from 1.
    mutating func append(_ packet: EncodedPacket, count: Int) {
        ahead[packet.pts] = packet.pts + max(1, packet.duration)
        if front == nil { front = packet.pts }
        if ahead.count > Self.depth { front = ahead.keys.min() }
        // Half a frame is rounding, not a hole.
        let tolerance = packet.duration / 2
        while let next = ahead.keys.first(where: { $0 - tolerance <= front ?? $0 }) {
            front = max(front ?? next, ahead.removeValue(forKey: next) ?? next)
        }
        if ahead.isEmpty { wholePrefix = count }
    }

    /// Notes that the frames of ``wholePrefix`` are on disk.
    mutating func wrotePrefix() { wholePrefix = 0 }

    /// Notes that all pending frames are on disk.
    mutating func wrote() { wholePrefix = ahead.isEmpty ? 0 : nil }
}
