// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import LibAV
internal import Media

/// Compressed packets of one track that were read and not yet decoded. Used by one thread.
struct CompressedQueue {
    /// How much media time a track may be read ahead (10 s).
    static let usualTimeLimit = Duration.seconds(10)
    /// How much of a file's audio may be read ahead of its video (180 s): a decoder holds up to five frames of a slide show.
    /// All audio up to this limit is read before a program continues without another frame, so the limit is not hours:
    /// on a slow disk even the bytes that are allowed take long.
    static let audioTimeLimit = Duration.seconds(180)
    /// How many bytes each track may be read ahead (64 MiB).
    static let byteLimit = 64 << 20

    /// How much media time of a live source is kept.
    var timeLimit = Self.usualTimeLimit

    private var packets: Deque<PacketBox> = []
    private let timeBase: TimeBase

    /// Compressed bytes in the queue.
    private(set) var bytes = 0

    init(timeBase: TimeBase) { self.timeBase = timeBase }

    var isEmpty: Bool { packets.isEmpty }

    /// When the first packet is to be decoded; nil if the queue is empty, or the packet does not say.
    var firstTime: Timestamp? {
        packets.first.flatMap { $0.dts ?? $0.pts }.map { Timestamp($0, in: timeBase) }
    }

    /// The time from the first packet to the last.
    var length: Duration {
        guard let first = packets.first, let last = packets.last,
            let from = first.dts ?? first.pts, let to = last.dts ?? last.pts
        else { return .zero }
        return timeBase.duration(to &- from)
    }

    mutating func append(_ packet: PacketBox) {
        packets.append(packet)
        bytes += packet.size
    }

    mutating func popFirst() -> PacketBox? {
        let packet = packets.popFirst()
        bytes -= packet?.size ?? 0
        return packet
    }

    /// Gives up the oldest packets of what was read too far ahead: more bytes than allowed, and more time if `isLive`,
    /// because then what is old will never be wanted. A file's packets are kept for their place.
    mutating func trim(isLive: Bool) {
        while bytes > Self.byteLimit || (isLive && (length > timeLimit || length < .zero - timeLimit)) {
            if popFirst() == nil { return }
        }
    }

    /// Gives up the packets with which decoding cannot begin.
    mutating func dropToKeyframe() {
        while let first = packets.first, !first.isKeyframe { _ = popFirst() }
    }

    mutating func removeAll() {
        packets.removeAll()
        bytes = 0
    }
}
