// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

extension EncodedPacket {
    /// Returns this packet, moved later by `shift` nanoseconds. The times inside splice information refer to the
    /// stream's times, so they are moved by the same amount. Nil for damaged splice information.
    func shifted(byNanoseconds shift: Int64) -> EncodedPacket? {
        let moved = moved(by: TimeBase.nanoseconds.rescale(shift, to: timeBase))
        guard description.codec == .scte35 else { return moved }
        let ticks = TimeBase.nanoseconds.rescale(shift, to: .mpegTS)
        return SpliceSection.shifted(payload.array, by: ticks).map { moved.carrying(SharedBytes($0)) }
    }
}
