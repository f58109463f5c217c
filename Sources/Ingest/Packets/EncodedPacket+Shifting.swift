// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

extension EncodedPacket {
    /// Returns this packet, moved later by `shift`. The times inside splice information refer to the stream's times, so
    /// they are moved by the same amount. Nil for damaged splice information.
    func shifted(by shift: Duration) -> EncodedPacket? {
        let moved = moved(by: timeBase.ticks(shift))
        guard description.codec == .scte35 else { return moved }
        return SpliceSection.shifted(payload.array, by: TimeBase.mpegTS.ticks(shift)).map {
            moved.carrying(SharedBytes($0))
        }
    }
}
