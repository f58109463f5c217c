// SPDX-License-Identifier: Apache-2.0

package import Media

/// Decodes one track and codes it again, packet by packet, at the sender's times. Used by one thread at a time.
package protocol TrackTranscoder: AnyObject {
    /// How the packets that come out are coded.
    var description: TrackDescription { get }
    /// Packets that could not be decoded.
    var errors: Int { get }
    /// Takes the next packet, in decoding order, and returns what came out. A packet that cannot be decoded is counted and
    /// left out; what is thrown ends the program.
    func take(_ packet: EncodedPacket) throws -> [EncodedPacket]
    /// Returns what is still inside. Nothing can be taken afterwards.
    func finish() throws -> [EncodedPacket]
}
