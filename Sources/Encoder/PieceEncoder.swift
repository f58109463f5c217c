// SPDX-License-Identifier: Apache-2.0

internal import CX264
package import Media

/// Encodes a few frames again so that they fit between those of a recording: with the same parameter sets, which a
/// player reads once for all (`stitchable`; ITU-T H.264, 7.4.1.2.1). Used by one thread at a time.
package final class PieceEncoder {
    private let encoder: X264Encoder
    private var next: Int64 = 0

    /// An encoder for pieces of a recording of `format` whose x264 says that it ran with `settings` and whose
    /// `AVCDecoderConfigurationRecord` is `configuration`. Throws if the parameter sets cannot be made the same.
    package init(like settings: String, configuration: [UInt8], format: VideoFormat) throws(EncoderError) {
        let operation = "encoding a piece that fits the recording"
        guard let recorded = X264SettingsText(settings), configuration.count > 3 else {
            throw EncoderError(operation: operation, reason: "the recording does not say how it was encoded")
        }
        var param = try X264Encoder.parameters(Self.quality, format: format)
        recorded.apply(to: &param)
        param.i_level_idc = Int32(configuration[3])
        encoder = try X264Encoder(parameters: param, format: format)
        guard encoder.description.decoderConfiguration.array == configuration else {
            throw EncoderError(
                operation: operation, reason: "this x264 makes other parameter sets than the recording has")
        }
    }

    /// The quality is better than that of copied frames: a piece is a copy of a copy.
    private static var quality: EncoderSettings {
        var settings = EncoderSettings()
        settings.rateControl = .quality(17)
        settings.isLive = false
        return settings
    }

    /// Encodes the next frame; the first becomes an IDR frame. Packets count frames, from 0 on.
    package func encode(_ frame: VideoFrame) throws(EncoderError) -> EncodedPacket? {
        defer { next += 1 }
        return try encoder.encode(frame, at: next, forceKeyframe: next == 0)
    }

    /// Returns a frame that is still inside, or nil when none is left.
    package func flush() throws(EncoderError) -> EncodedPacket? { try encoder.flush() }
}
