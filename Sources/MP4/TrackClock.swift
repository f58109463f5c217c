// SPDX-License-Identifier: Apache-2.0

package import Media

/// Converts the times of packets to ticks of one track of a file.
package struct TrackClock {
    /// The time of the program, in ticks of the track, at which the track's own timeline begins.
    package var origin: Int64 = 0
    package let timeBase: TimeBase

    /// Creates a clock with `timescale` ticks per second, for a track that begins at 0.
    package init(timescale: UInt32) { timeBase = TimeBase(1, Int32(clamping: timescale)) }

    /// Converts `time`, a time of `packet`, to ticks of the track. The complete time since the program's start is
    /// converted, and not the time since the previous packet, so that rounding errors do not add up.
    package func ticks(_ time: Int64, _ packet: EncodedPacket) -> Int64 { packet.timeBase.rescale(time, to: timeBase) }

    /// The table entries of `packets`. `next` is the packet that follows them, if it is known.
    package func entries(_ packets: [EncodedPacket], next: EncodedPacket?) -> [SampleEntry] {
        packets.enumerated().map { index, packet in
            let decode = ticks(packet.dts, packet)
            let following = index + 1 < packets.count ? packets[index + 1] : next
            let end = following.map { ticks($0.dts, $0) } ?? ticks(packet.dts + packet.duration, packet)
            return SampleEntry(
                decodeTime: max(0, decode - origin), duration: UInt32(clamping: end - decode),
                compositionOffset: Int32(clamping: ticks(packet.pts, packet) - decode),
                size: UInt32(clamping: packet.payload.count), isSync: packet.isKeyframe)
        }
    }
}
