// SPDX-License-Identifier: Apache-2.0

package import Media

/// Statistics of a program that is passed through.
package struct PassthroughStatus: Sendable, Codable {
    /// Packets of all tracks.
    package var packets: Int64 = 0
    /// The number of these packets that are frames.
    package var frames: Int64 = 0
    /// The size of the packets, in bytes.
    package var bytes: Int64 = 0
    /// The latest decoding time, in nanoseconds of program time.
    package var programNanoseconds: Int64 = 0
    /// Frames that were dropped because they refer to a missing keyframe.
    package var undecodableFrames = 0
    /// Packets whose decoding time did not increase, and was therefore corrected.
    package var movedPackets = 0
    /// Packets that could not be decoded. They belong to the track that is re-encoded with `--copy-video` or
    /// `--copy-audio`.
    package var transcodingErrors = 0
    /// Packets of that track that were dropped because the encoder could not keep up.
    package var skippedPackets = 0

    /// The statistics before the first packet.
    package init() {}

    /// Counts a packet that goes on air.
    package mutating func count(_ packet: EncodedPacket) {
        packets += 1
        if packet.track == .video { frames += 1 }
        bytes += Int64(packet.payload.count)
        programNanoseconds = max(programNanoseconds, packet.dtsNanoseconds)
    }
}
