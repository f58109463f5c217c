// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import LibAV
internal import Media

/// A queue of one track's compressed packets, which were read and are not decoded yet. Used by one thread.
struct CompressedQueue {
    /// How far a track is read ahead at most, in media time (10 s).
    static let usualTimeLimit = Duration.seconds(10)
    /// How far a file's audio is read ahead of its video at most (180 s). The limit must be long, because a decoder
    /// retains up to five frames, even of a slide show. It must not be hours, because all audio up to the limit is read
    /// before a program continues without another frame: on a slow disk, reading even ``usualByteLimit`` takes long.
    static let audioTimeLimit = Duration.seconds(180)
    /// How many bytes of each track are read ahead at most (64 MiB).
    static let usualByteLimit = 64 << 20
    /// How many more bytes of a live track are kept for each second that packets wait before they are due: 16 MiB, which
    /// is a rate of 134 Mbit/s.
    private static let bytesPerSecond = 16 << 20

    /// How much media time of a live source is kept; older packets are dropped.
    var timeLimit = Self.usualTimeLimit
    /// How many bytes are kept.
    private(set) var byteLimit = Self.usualByteLimit

    private var packets: Deque<PacketBox> = []
    private let timeBase: TimeBase

    /// Compressed bytes in the queue.
    private(set) var bytes = 0

    init(timeBase: TimeBase) { self.timeBase = timeBase }

    var isEmpty: Bool { packets.isEmpty }

    /// Makes room for packets that wait `time` before they are due.
    mutating func makeRoom(forWaiting time: Duration) {
        byteLimit = Self.usualByteLimit + Int(time.inSeconds.rounded(.up)) * Self.bytesPerSecond
    }

    /// When the first packet should be decoded; nil if the queue is empty or the packet has no timestamp.
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

    /// Drops the oldest packets while the queue has more bytes than allowed or, if `isLive`, more media time than
    /// allowed, because old live packets will not be shown. Packets of a file are not dropped for the second reason,
    /// because every packet of a file is played.
    mutating func trim(isLive: Bool) {
        while bytes > byteLimit || (isLive && (length > timeLimit || length < .zero - timeLimit)) {
            if popFirst() == nil { return }
        }
    }

    /// Drops packets up to the first packet with which decoding can begin.
    mutating func dropToKeyframe() {
        while let first = packets.first, !first.isKeyframe { _ = popFirst() }
    }

    mutating func removeAll() {
        packets.removeAll()
        bytes = 0
    }
}
