// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Leaves out of a copy the audio packets that a file's edit list cuts off, except the last one before the audible
/// audio: a decoder needs it to decode the next packet correctly.
///
/// This is a value without a clock or I/O of its own.
struct AudioPreRoll {
    /// The last packet that the edit list cuts off, if no audible packet has followed it.
    private var last: EncodedPacket?

    /// Takes the next packet. `isHidden` means that the edit list cuts the packet off. Returns the packets that are
    /// copied now, in order.
    mutating func take(_ packet: EncodedPacket, isHidden: Bool) -> [EncodedPacket] {
        if isHidden {
            last = packet
            return []
        }
        defer { last = nil }
        guard let last, last.description === packet.description else { return [packet] }
        return [last, packet]
    }
}
