// SPDX-License-Identifier: Apache-2.0

internal import CX264
package import Media

/// Encodes frames as fast as they arrive, for a file that can also contain frames of other encoders. Its parameter sets
/// have an ID of their own (ITU-T H.264, 7.4.2.1.1), so that the sets of one encoder do not replace those of another.
/// Only one thread at a time may use it.
package final class RenderEncoder {
    private let encoder: X264Encoder
    private var next: Int64 = 0

    /// The largest ID that parameter sets of x264 can have.
    package static let greatestNumber = 31

    /// The description to which the packets refer.
    package var description: TrackDescription { encoder.description }

    /// Creates an encoder with `settings`. `number` is the ID of its parameter sets, from 0 to ``greatestNumber``.
    package init(_ settings: EncoderSettings, format: VideoFormat, number: Int) throws(EncoderError) {
        var param = try X264Encoder.parameters(settings, format: format)
        param.i_sps_id = Int32(number)
        encoder = try X264Encoder(parameters: param, format: format)
    }

    /// Encodes the next frame, and returns a packet if one is ready. With `isKeyframe`, the frame becomes an IDR frame;
    /// the first frame always does. Packet times are frame numbers, counted from 0.
    package func encode(_ frame: VideoFrame, isKeyframe: Bool) throws(EncoderError) -> EncodedPacket? {
        defer { next += 1 }
        return try encoder.encode(frame, at: next, forceKeyframe: isKeyframe || next == 0)
    }

    /// Returns the packet of a frame that the encoder still holds; nil if the encoder holds no more frames.
    package func flush() throws(EncoderError) -> EncodedPacket? { try encoder.flush() }
}
