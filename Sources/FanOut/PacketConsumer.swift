// SPDX-License-Identifier: Apache-2.0

package import Media

/// Something that the fan-out feeds: an output, a player or a recorder. No call blocks.
package protocol PacketConsumer: AnyObject, Sendable {
    /// Queues packets: a frame with the audio before it, and at the end what is left, perhaps nothing. Those of both
    /// tracks come in decoding order. Returns the server of what was queued; nil if there is nothing to be done.
    @discardableResult
    func accept(_ packets: [EncodedPacket]) -> (any PacketServer)?
}

/// Serves the queues of one or more outputs. Woken after each frame, when all outputs have it, and at the end. It is woken
/// once however many outputs it serves, if these were added one behind the other; a server whose outputs are mixed with
/// others' may be woken several times for a frame. Waking does not block.
package protocol PacketServer: AnyObject, Sendable {
    /// Something is queued.
    func wake()
}
