// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

extension SourceFeed: PacketTap {
    package var wantsPackets: Bool { packetBuffer != nil }

    package func beginPackets(refusal: String?) { packetBuffer?.begin(refusal: refusal) }

    package func deliver(packet: EncodedPacket) { packetBuffer?.put(packet) }

    /// Why the source's packets are unavailable; nil if they are available, or if that is not known yet.
    package var packetRefusal: String? {
        guard let packetBuffer else { return isLive ? "its packets are not kept" : "it waits to be read" }
        return packetBuffer.refusal
    }

    /// Lets the next consumer of packets begin with the newest keyframe that another consumer has taken.
    package func rewindPackets() { packetBuffer?.rewind() }

    /// Forgets the packets with decoding times before program time `time`.
    package func dropPackets(before time: Timestamp) {
        _ = packetBuffer?.take { packet in target(of: packet, before: time).map { _ in packet } }
    }

    /// Takes the packets whose decoding times are before the program time `end`. `placing` converts their times. They
    /// are in the order of their decoding times.
    package func takePackets(before end: Timestamp, by placing: inout PacketPlacing) -> [EncodedPacket] {
        guard let packetBuffer else { return [] }
        let taken = packetBuffer.take { packet in
            target(of: packet, before: end).map { placing.place(packet, target: $0) }
        }
        return taken.sorted { $0.dtsNanoseconds < $1.dtsNanoseconds }
    }

    /// Returns how much later the time of `packet` is in the program than on the source's timeline, at present and in
    /// nanoseconds. Nil if its decoding time is not before `end`, or if the difference is unknown.
    private func target(of packet: EncodedPacket, before end: Timestamp) -> Int64? {
        guard let line = programTime.line, let times = state.withLock({ $0.live.times }),
            let due = times.due(Timestamp(packet.pts, in: packet.timeBase), of: packet.track)
        else { return nil }
        let target = line.image(of: due).nanoseconds - packet.ptsNanoseconds
        return packet.dtsNanoseconds + target < end.nanoseconds ? target : nil
    }
}
