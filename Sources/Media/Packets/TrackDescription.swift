// SPDX-License-Identifier: Apache-2.0

/// The kind of a program's track.
package enum TrackKind: String, Sendable, Codable, CaseIterable {
    /// The video.
    case video
    /// The audio.
    case audio
    /// Timed data: captions, cue points, splice information.
    case data
}

/// How the packets of one track are coded: the information that a decoder, a muxer or a server needs about them.
///
/// Each packet refers to its description. Descriptions are compared by identity: if a packet refers to another object
/// than the packet before it, the coding has changed. The coding changes only at a keyframe. A producer therefore uses
/// the same object as long as nothing in it changes.
package final class TrackDescription: Sendable {
    /// The kind of track and its format after decoding.
    package enum Format: Sendable, Hashable {
        /// Frames of this size and color.
        case video(FrameFormat)
        /// Audio of this rate and number of channels.
        case audio(AudioFormat)
        /// Timed data.
        case data
    }

    /// Video, audio or data.
    package let kind: TrackKind
    /// The codec of the payloads.
    package let codec: Codec
    /// The kind of track and its format after decoding.
    package let format: Format
    /// The time base of the packets' times.
    package let timeBase: TimeBase
    /// The data that a decoder needs before the first packet: `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15,
    /// 5.3.3.1.2) for H.264, `HEVCDecoderConfigurationRecord` (8.3.3.1.2) for HEVC, `AV1CodecConfigurationRecord`
    /// (AV1-ISOBMFF, 2.3.3), `AudioSpecificConfig` (ISO/IEC 14496-3, 1.6.2.1) for AAC, `OpusHead` (RFC 7845, 5.1) for
    /// Opus, the body of `dac3` for AC-3, see ``AC3Header``. Empty if the payload needs no such data: MP3, PCM, data.
    package let decoderConfiguration: SharedBytes
    /// Average bits per second; 0 if it is unknown, or if the encoder keeps the quality constant and not the bitrate.
    package let bitrate: Int
    /// Frames per second; nil if the rate is variable or unknown, and for audio and data.
    package let nominalRate: FrameRate?
    /// The decoding delay: the first packet's pts minus its dts, in frames. 0 for audio and data.
    package let reorderDepth: Int64
    /// Usual number of samples per audio packet: 1024 for AAC-LC. 0 if unknown, and for video and data.
    package let frameLength: Int
    /// How players must rotate or mirror the frames: the display matrix of ISO/IEC 14496-12, 8.3.2, row by row. Nil if
    /// the frames are shown as they are coded.
    package let displayMatrix: [UInt32]?
    /// The encoder's own text about its settings, stored in recordings; empty if unknown.
    package let encoderSettings: String

    private init(
        _ codec: Codec, _ format: Format, _ timeBase: TimeBase, _ decoderConfiguration: SharedBytes, bitrate: Int,
        nominalRate: FrameRate? = nil, reorderDepth: Int64 = 0, frameLength: Int = 0, displayMatrix: [UInt32]? = nil,
        encoderSettings: String = ""
    ) {
        kind = codec.kind
        self.codec = codec
        self.format = format
        self.timeBase = timeBase
        self.decoderConfiguration = decoderConfiguration
        self.bitrate = bitrate
        self.nominalRate = nominalRate
        self.reorderDepth = reorderDepth
        self.frameLength = frameLength
        self.displayMatrix = displayMatrix
        self.encoderSettings = encoderSettings
    }

    /// A video track. `codec` must be a video codec.
    package convenience init(
        video codec: Codec, frames: FrameFormat, timeBase: TimeBase, decoderConfiguration: SharedBytes,
        bitrate: Int = 0, nominalRate: FrameRate? = nil, reorderDepth: Int64 = 0, displayMatrix: [UInt32]? = nil,
        encoderSettings: String = ""
    ) {
        precondition(codec.kind == .video, "a video track has a video codec")
        self.init(
            codec, .video(frames), timeBase, decoderConfiguration, bitrate: bitrate, nominalRate: nominalRate,
            reorderDepth: reorderDepth, displayMatrix: displayMatrix, encoderSettings: encoderSettings)
    }

    /// An audio track. `codec` must be an audio codec. If `timeBase` is nil, one tick is one sample.
    package convenience init(
        audio codec: Codec, format: AudioFormat, timeBase: TimeBase? = nil, decoderConfiguration: SharedBytes,
        bitrate: Int = 0, frameLength: Int = 0
    ) {
        precondition(codec.kind == .audio, "an audio track has an audio codec")
        self.init(
            codec, .audio(format), timeBase ?? format.timeBase, decoderConfiguration, bitrate: bitrate,
            frameLength: frameLength)
    }

    /// A track of timed data. `codec` must be a data codec.
    package convenience init(data codec: Codec, timeBase: TimeBase) {
        precondition(codec.kind == .data, "a data track has a data codec")
        self.init(codec, .data, timeBase, SharedBytes([]), bitrate: 0)
    }

    /// H.264 at a constant rate, with one tick per frame, as relay's own encoder produces it.
    package convenience init(
        format: VideoFormat, decoderConfiguration: SharedBytes, bitrate: Int, reorderDepth: Int64,
        encoderSettings: String
    ) {
        self.init(
            video: .h264, frames: format.frameFormat, timeBase: format.frameRate.timeBase,
            decoderConfiguration: decoderConfiguration, bitrate: bitrate, nominalRate: format.frameRate,
            reorderDepth: reorderDepth, encoderSettings: encoderSettings)
    }

    /// AAC with one tick per sample, as relay's own encoder produces it.
    package convenience init(format: AudioFormat, decoderConfiguration: SharedBytes, bitrate: Int, frameLength: Int) {
        self.init(
            audio: .aac, format: format, decoderConfiguration: decoderConfiguration, bitrate: bitrate,
            frameLength: frameLength)
    }

    /// Format of the frames; nil for audio and data.
    package var frameFormat: FrameFormat? {
        if case .video(let format) = format { format } else { nil }
    }

    /// Rate and channels; nil for video and data.
    package var audioFormat: AudioFormat? {
        if case .audio(let format) = format { format } else { nil }
    }

    /// Whether the frame rate is constant and each frame lasts one tick, as in packets from relay's own encoder.
    package var hasSteadyRate: Bool { nominalRate?.timeBase == timeBase }

    /// The same video track with another nominal frame rate.
    package func rated(_ rate: FrameRate) -> TrackDescription {
        TrackDescription(
            codec, format, timeBase, decoderConfiguration, bitrate: bitrate, nominalRate: rate,
            reorderDepth: reorderDepth, frameLength: frameLength, displayMatrix: displayMatrix,
            encoderSettings: encoderSettings)
    }

    /// The same track with another time base.
    package func timed(in timeBase: TimeBase) -> TrackDescription {
        timeBase == self.timeBase
            ? self
            : TrackDescription(
                codec, format, timeBase, decoderConfiguration, bitrate: bitrate, nominalRate: nominalRate,
                reorderDepth: reorderDepth, frameLength: frameLength, displayMatrix: displayMatrix,
                encoderSettings: encoderSettings)
    }
}
