// SPDX-License-Identifier: Apache-2.0

package import Media

/// What was passed through so far.
package struct PassthroughStatus: Sendable, Codable {
    /// Packets of all tracks.
    package var packets: Int64 = 0
    /// Frames among them.
    package var frames: Int64 = 0
    /// Their bytes.
    package var bytes: Int64 = 0
    /// The latest decoding time, in nanoseconds of the program.
    package var programNanoseconds: Int64 = 0
    /// Frames left out because the keyframe was missing that they refer to.
    package var undecodableFrames = 0
    /// Packets whose decoding time did not increase, and was made to.
    package var movedPackets = 0
    /// Packets of the track that is encoded, with `--copy-video` or `--copy-audio`, that could not be decoded.
    package var transcodingErrors = 0
    /// Packets of it that were left out because the encoder could not keep up.
    package var skippedPackets = 0

    /// Nothing was passed through yet.
    package init() {}

    /// Counts a packet that goes on air.
    package mutating func count(_ packet: EncodedPacket) {
        packets += 1
        if packet.track == .video { frames += 1 }
        bytes += Int64(packet.payload.count)
        programNanoseconds = max(programNanoseconds, packet.dtsNanoseconds)
    }
}
