// SPDX-License-Identifier: Apache-2.0

package import Media

/// A consumer of the fan-out: an output, a player or a recorder. No call blocks.
package protocol PacketConsumer: AnyObject, Sendable {
    /// Queues packets: a frame with the audio before it; at the end the remaining packets, if any. Packets of both
    /// tracks come in decoding order. Returns the server that sends the queued packets; nil if there is nothing to
    /// send.
    @discardableResult
    func accept(_ packets: [EncodedPacket]) -> (any PacketServer)?
}

/// Sends the queued packets of one or more outputs. It is woken after each frame, when all outputs have that frame, and
/// at the end. It is woken once for all of its outputs if they were added consecutively; otherwise it may be woken
/// several times per frame. Waking does not block.
package protocol PacketServer: AnyObject, Sendable {
    /// Reports that there are new packets.
    func wake()
}
