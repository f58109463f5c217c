// SPDX-License-Identifier: Apache-2.0

package import Media

/// Decodes one track and encodes it again, packet by packet, with the sender's times. One thread at a time.
package protocol TrackTranscoder: AnyObject {
    /// The coding of the output packets.
    var description: TrackDescription { get }
    /// Number of packets that could not be decoded.
    var errors: Int { get }
    /// Transcodes the next packet, in decoding order, and returns the packets that are ready. A packet that cannot be
    /// decoded is counted and left out. If the call throws, the program ends.
    func take(_ packet: EncodedPacket) throws -> [EncodedPacket]
    /// Returns the remaining packets. No packet may be passed afterwards.
    func finish() throws -> [EncodedPacket]
}
