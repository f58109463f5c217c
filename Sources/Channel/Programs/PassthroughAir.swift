// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Media
internal import Status

/// What a switched passthrough publishes, and in which order. A value that a lock guards.
struct PassthroughAir {
    /// What may wait for the program's beginning. More is given up, and it begins with a later keyframe.
    private static let mostEarlyBytes = 32 << 20

    var splicer = PacketSplicer()
    /// What was published.
    private(set) var status = PassthroughStatus()
    private(set) var rate = MeasuredRate()
    /// The first packet's decoding time, in nanoseconds.
    var first: Int64?
    /// How the tracks of the input that was on air last are coded; nil if no input was.
    private(set) var shown: StreamDescription?
    /// Whether the program has begun. Packets that arrive before that, or before an input was chosen, wait.
    var hasBegun = false
    /// Inputs that are closed as soon as another one has taken over from them.
    var closing: Set<Int> = []
    private var early: [(packet: EncodedPacket, index: Int, arrival: Timestamp)] = []
    private var earlyBytes = 0

    /// Keeps a packet for the beginning. For an input that replaces the first one, keeps only the newest GOP: what came
    /// before is not missed, and the program would begin with all of it at once, ahead of the clock.
    mutating func keep(_ packet: EncodedPacket, of index: Int, at arrival: Timestamp) {
        if index > 0, packet.track == .video, packet.isKeyframe {
            early.removeAll { $0.index == index }
            earlyBytes = early.reduce(0) { $0 + $1.packet.payload.count }
        }
        early.append((packet, index, arrival))
        earlyBytes += packet.payload.count
        if earlyBytes > Self.mostEarlyBytes { (early, earlyBytes) = ([], 0) }
    }

    /// What waited for the beginning.
    mutating func takeEarly() -> [(packet: EncodedPacket, index: Int, arrival: Timestamp)] {
        defer { (early, earlyBytes) = ([], 0) }
        return early
    }

    /// Counts a packet that goes on air.
    mutating func note(_ packet: EncodedPacket, of index: Int, isSlate: Bool) {
        status.count(packet)
        rate.take(packet)
        guard !isSlate, packet.isKeyframe, packet.track != .data else { return }
        let known = packet.track == .video ? shown?.video : shown?.audio
        if known !== packet.description { shown = splicer.stream(of: index) }
    }

    /// The inputs to be closed of which nothing goes on air any more.
    mutating func takeLeft() -> [Int] {
        guard !closing.isEmpty else { return [] }
        let left = closing.filter { splicer.onAir != $0 && splicer.leaving != $0 }
        closing.subtract(left)
        return Array(left)
    }
}
