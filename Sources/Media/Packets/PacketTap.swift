// SPDX-License-Identifier: Apache-2.0

/// Receives a live source's packets as they arrived, in addition to the decoded media. No call blocks.
package protocol PacketTap: AnyObject, Sendable {
    /// Whether the tap wants packets.
    var wantsPackets: Bool { get }
    /// The input is open, perhaps from another sender; the packets that follow begin with a keyframe. `refusal` says
    /// why the packets cannot be used, in one sentence without a full stop; nil if they can.
    func beginPackets(refusal: String?)
    /// Receives a packet, in decoding order of its track. Its times are on the source's timeline.
    func deliver(packet: EncodedPacket)
}
