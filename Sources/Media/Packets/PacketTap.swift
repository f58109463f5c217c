// SPDX-License-Identifier: Apache-2.0

/// Where a live source delivers, besides what is decoded of them, its packets as they came. None of the calls blocks.
package protocol PacketTap: AnyObject, Sendable {
    /// Whether packets are wanted.
    var wantsPackets: Bool { get }
    /// The input is open, and another sender may be there: what follows begins with a keyframe. `refusal` says why its
    /// packets cannot be had, in one sentence without a full stop; nil if they can.
    func beginPackets(refusal: String?)
    /// Takes a packet whose times are on the source's timeline, in the order of its track's decoding times.
    func deliver(packet: EncodedPacket)
}
