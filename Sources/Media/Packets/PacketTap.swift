// SPDX-License-Identifier: Apache-2.0

/// Receives the packets of a live source as they arrived, in addition to the decoded media. No call blocks.
package protocol PacketTap: AnyObject, Sendable {
    /// Whether the tap wants packets.
    var wantsPackets: Bool { get }
    /// Reports that the input is open, perhaps with another sender, and that the next packets begin with a keyframe.
    /// `refusal` says why the packets cannot be used, in one sentence without a full stop; nil if they can.
    func beginPackets(refusal: String?)
    /// Receives a packet, in decoding order of its track. Its times are on the source's timeline.
    func deliver(packet: EncodedPacket)
}
