// SPDX-License-Identifier: Apache-2.0

internal import CX264
package import Media

/// Encodes frames as fast as they come, for a file in which frames of other encoders may lie beside them: its parameter sets
/// have a number of their own (ITU-T H.264, 7.4.2.1.1), so that neither replaces the other's. Used by one thread at a time.
package final class RenderEncoder {
    private let encoder: X264Encoder
    private var next: Int64 = 0

    /// The greatest number that x264 gives its parameter sets.
    package static let greatestNumber = 31

    /// What the packets refer to.
    package var description: TrackDescription { encoder.description }

    /// An encoder by `settings` whose parameter sets have the number `number`.
    package init(_ settings: EncoderSettings, format: VideoFormat, number: Int) throws(EncoderError) {
        var param = try X264Encoder.parameters(settings, format: format)
        param.i_sps_id = Int32(number)
        encoder = try X264Encoder(parameters: param, format: format)
    }

    /// Encodes the next frame, and returns the packet that came out, if any did. Packets count frames, from 0 on.
    package func encode(_ frame: VideoFrame, isKeyframe: Bool) throws(EncoderError) -> EncodedPacket? {
        defer { next += 1 }
        return try encoder.encode(frame, at: next, forceKeyframe: isKeyframe || next == 0)
    }

    /// Returns a frame that is still inside, or nil when none is left.
    package func flush() throws(EncoderError) -> EncodedPacket? { try encoder.flush() }
}
