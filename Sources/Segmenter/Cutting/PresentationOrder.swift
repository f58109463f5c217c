// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Follows frames, which come in decoding order, and knows where a file could end without a hole in what it shows.
struct PresentationOrder {
    /// So many of the pending frames, together with all on disk, show no hole; nil if some on disk already do without
    /// a frame that is pending or to come.
    private(set) var wholePrefix: Int? = 0

    /// Up to here nothing is missing, in ticks of the packets.
    private var front: Int64?
    /// Ends of the frames behind a hole, by beginning.
    private var ahead: [Int64: Int64] = [:]

    /// More frames than any decoder can reorder (H.264, A.3.1: 16 frames): the hole is in the program itself.
    private static let depth = 32

    /// Takes the frame that is pending number `count`, counted from 1.
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

    /// The frames of ``wholePrefix`` are on disk.
    mutating func wrotePrefix() { wholePrefix = 0 }

    /// All pending frames are on disk.
    mutating func wrote() { wholePrefix = ahead.isEmpty ? 0 : nil }
}
