// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import LibAV
internal import Media

/// A queue of one track's compressed packets that were read but are not decoded yet. Used by one thread.
struct CompressedQueue {
    /// The maximum media time by which a track is read ahead of its decoding (10 s).
    static let usualTimeLimit = Duration.seconds(10)
    /// The maximum by which a file's audio is read ahead of its video (180 s). The limit must be long, because a
    /// decoder retains up to five frames, even of a slide show, in which each frame lasts many seconds. The limit must
    /// not be hours: if no further video frame comes, the reader reads all audio up to the limit before the program
    /// continues. On a slow disk, reading even ``usualByteLimit`` takes long.
    static let audioTimeLimit = Duration.seconds(180)
    /// The maximum number of bytes of each track that are read ahead (64 MiB).
    static let usualByteLimit = 64 << 20
    /// For a live track, the additional bytes that the queue can hold for each second that packets wait until they are
    /// due: 16 MiB, which is enough for a rate of 134 Mbit/s.
    private static let bytesPerSecond = 16 << 20

    /// The maximum media time of a live source in the queue; if there is more, the oldest packets are dropped.
    var timeLimit = Self.usualTimeLimit
    /// The maximum number of bytes in the queue.
    private(set) var byteLimit = Self.usualByteLimit

    private var packets: Deque<PacketBox> = []
    private let timeBase: TimeBase

    /// Compressed bytes in the queue.
    private(set) var bytes = 0

    init(timeBase: TimeBase) { self.timeBase = timeBase }

    var isEmpty: Bool { packets.isEmpty }

    /// Raises the byte limit for packets that wait `time` before they are due.
    mutating func makeRoom(forWaiting time: Duration) {
        byteLimit = Self.usualByteLimit + Int(time.inSeconds.rounded(.up)) * Self.bytesPerSecond
    }

    /// When the first packet should be decoded; nil if the queue is empty or the packet has no timestamp.
    var firstTime: Timestamp? {
        packets.first.flatMap { $0.dts ?? $0.pts }.map { Timestamp($0, in: timeBase) }
    }

    /// The time from the first packet to the last; zero if one of them has no timestamp.
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

    /// Drops the oldest packets while the queue has more bytes than allowed. If `isLive` is set, also drops the oldest
    /// packets while the queue has more media time than allowed, because old live packets will not be shown. Packets of
    /// a file are never dropped for their media time, because every packet of a file is played.
    mutating func trim(isLive: Bool) {
        while bytes > byteLimit || (isLive && (length > timeLimit || length < .zero - timeLimit)) {
            if popFirst() == nil { return }
        }
    }

    /// Drops all packets before the first keyframe in the queue.
    mutating func dropToKeyframe() {
        while let first = packets.first, !first.isKeyframe { _ = popFirst() }
    }

    mutating func removeAll() {
        packets.removeAll()
        bytes = 0
    }
}
