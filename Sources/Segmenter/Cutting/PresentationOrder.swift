// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Tracks frames in decoding order, and knows where a file can end so that no frames are missing in presentation order.
struct PresentationOrder {
    /// How many of the pending frames can be written so that they and the frames on disk together have no gap in
    /// presentation order. Nil if the frames on disk already have a gap, which only pending or future frames can fill.
    private(set) var wholePrefix: Int? = 0

    /// The time up to which no frame is missing, in ticks of the packets.
    private var front: Int64?
    /// The frames after the first missing frame: each one's end time by its start time.
    private var ahead: [Int64: Int64] = [:]

    /// A number of frames that no decoder can reorder (H.264, A.3.1: at most 16 frames). If more frames than this wait
    /// for a missing frame, the program itself does not contain that frame.
    private static let depth = 32

    /// Adds `packet`, which is the `count`-th pending frame, counted from 1.
    mutating func append(_ packet: EncodedPacket, count: Int) {
        ahead[packet.pts] = packet.pts + max(1, packet.duration)
        if front == nil { front = packet.pts }
        if ahead.count > Self.depth { front = ahead.keys.min() }
        // A gap of up to half a frame is a rounding error, and no frame is missing.
        let tolerance = packet.duration / 2
        while let next = ahead.keys.first(where: { $0 - tolerance <= front ?? $0 }) {
            front = max(front ?? next, ahead.removeValue(forKey: next) ?? next)
        }
        if ahead.isEmpty { wholePrefix = count }
    }

    /// Records that the frames counted by ``wholePrefix`` are on disk.
    mutating func wrotePrefix() { wholePrefix = 0 }

    /// Records that all pending frames are on disk.
    mutating func wrote() { wholePrefix = ahead.isEmpty ? 0 : nil }
}
