// SPDX-License-Identifier: Apache-2.0

internal import CX264
package import Media

/// Encodes a few frames of a recording again, so that they fit between copied frames of the same recording. The new
/// frames use the same parameter sets as the recording, because a player reads those only once (x264's `stitchable`;
/// ITU-T H.264, 7.4.1.2.1). Only one thread at a time may use it.
package final class PieceEncoder {
    private let encoder: X264Encoder
    private var next: Int64 = 0

    /// Creates an encoder for pieces of a recording of `format`. `settings` is the text that x264 stored in the
    /// recording, and `configuration` is the recording's `AVCDecoderConfigurationRecord`. Throws if `settings` is
    /// incomplete, if x264 refuses the session, or if x264 would make other parameter sets.
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

    /// The quality is higher than in most recordings, because these frames are encoded for the second time.
    private static var quality: EncoderSettings {
        var settings = EncoderSettings()
        settings.rateControl = .quality(17)
        settings.isLive = false
        return settings
    }

    /// Encodes the next frame, and returns a packet if one is ready. The first frame becomes an IDR frame. Packet times
    /// are frame numbers, counted from 0.
    package func encode(_ frame: VideoFrame) throws(EncoderError) -> EncodedPacket? {
        defer { next += 1 }
        return try encoder.encode(frame, at: next, forceKeyframe: next == 0)
    }

    /// Returns the packet of a frame that the encoder still holds; nil if the encoder holds no more frames.
    package func flush() throws(EncoderError) -> EncodedPacket? { try encoder.flush() }
}

/// The settings that affect the parameter sets, read from x264's own text (`x264_param2string`).
struct X264SettingsText {
    private var values: [Substring: Int32] = [:]

    /// Parses `text`; nil if it lacks a setting that x264 always writes.
    init?(_ text: String) {
        for word in text.split(separator: " ") {
            let pair = word.split(separator: "=", maxSplits: 1)
            if pair.count == 2, let value = Int32(pair[1]) { values[pair[0]] = value }
        }
        guard values["ref"] != nil, values["bframes"] != nil, values["keyint"] != nil else { return nil }
    }

    func apply(to param: inout x264_param_t) {
        func set(_ name: Substring, _ body: (Int32) -> Void) {
            if let value = values[name] { body(value) }
        }
        set("ref") { param.i_frame_reference = min(max($0, 1), 16) }
        set("bframes") { param.i_bframe = min(max($0, 0), 16) }
        set("b_pyramid") { param.i_bframe_pyramid = $0 }
        set("weightb") { param.analyse.b_weighted_bipred = $0 }
        param.analyse.i_weighted_pred = values["weightp"] ?? 0
        set("8x8dct") { param.analyse.b_transform_8x8 = $0 }
        set("cabac") { param.b_cabac = $0 }
        set("keyint") { param.i_keyint_max = max($0, 1) }
        set("keyint_min") { param.i_keyint_min = $0 }
        // x264 adds its psychovisual adjustment to the chroma offset, and the offset in the text already contains this
        // adjustment. So the adjustment is turned off here; otherwise it would be added twice.
        param.analyse.b_psy = 0
        set("chroma_qp_offset") { param.analyse.i_chroma_qp_offset = $0 }
    }
}
