// SPDX-License-Identifier: Apache-2.0

/// Which of a program's tracks something belongs to.
public enum TrackKind: String, Sendable, Codable, CaseIterable {
    /// The video.
    case video
    /// The audio.
    case audio
}

/// One coded frame or one coded audio frame, immutable and shared by all outputs.
///
/// Video payloads are H.264 NAL units with 4-byte big-endian lengths in front (ISO/IEC 14496-15, 5.3.3.1), without
/// parameter sets; audio payloads are raw AAC access units without ADTS.
///
/// A class: each of hundreds of queues holds one reference, and what they all look at is in the processor's cache.
public final class EncodedPacket: Sendable {
    /// The track.
    public let track: TrackKind
    /// Presentation time in ticks of ``timeBase`` since the start of the program. The first audio packet of an
    /// encoder that primes is negative.
    public let pts: Int64
    /// Decoding time in the same ticks; at most ``pts``.
    public let dts: Int64
    /// How long the packet lasts, in the same ticks.
    public let duration: Int64
    /// The track's time base.
    public let timeBase: TimeBase
    /// Whether decoding can start here: an IDR frame; true for every audio packet.
    public let isKeyframe: Bool
    /// Whether no other frame refers to this one (`nal_ref_idc == 0`, ITU-T H.264, 7.4.1).
    public let isDisposable: Bool
    /// The coded bytes.
    public let payload: SharedBytes
    /// The decoding time in nanoseconds, the common clock by which packets of both tracks are compared.
    public let dtsNanoseconds: Int64
    /// The presentation time in nanoseconds.
    public let ptsNanoseconds: Int64

    /// A packet of these properties.
    public init(
        track: TrackKind, pts: Int64, dts: Int64, duration: Int64, timeBase: TimeBase, isKeyframe: Bool,
        isDisposable: Bool = false, payload: SharedBytes
    ) {
        self.track = track
        self.pts = pts
        self.dts = dts
        self.duration = duration
        self.timeBase = timeBase
        self.isKeyframe = isKeyframe
        self.isDisposable = isDisposable
        self.payload = payload
        // Once here, and not once for each output: the division is one of 128 bits.
        dtsNanoseconds = timeBase.rescale(dts, to: .nanoseconds, rounding: .down)
        ptsNanoseconds = timeBase.rescale(pts, to: .nanoseconds, rounding: .down)
    }
}

/// What an output must know of the coded streams before the first packet.
public struct StreamDescription: Sendable {
    /// How the video is coded.
    public struct Video: Sendable {
        /// Size, rate, pixel aspect and color.
        public let format: VideoFormat
        /// `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15, 5.3.3.1.2).
        public let decoderConfiguration: SharedBytes
        /// Average bits a second that the encoder aims for; 0 when it aims for a quality.
        public let bitrate: Int
        /// The decoding delay: the first packet's pts minus its dts, in frames.
        public let reorderDepth: Int64
        /// The encoder's settings in its own words, kept with recordings.
        public let encoderSettings: String

        /// A description of a coded video track.
        public init(
            format: VideoFormat, decoderConfiguration: SharedBytes, bitrate: Int, reorderDepth: Int64,
            encoderSettings: String
        ) {
            self.format = format
            self.decoderConfiguration = decoderConfiguration
            self.bitrate = bitrate
            self.reorderDepth = reorderDepth
            self.encoderSettings = encoderSettings
        }
    }

    /// How the audio is coded.
    public struct Audio: Sendable {
        /// Rate and channels.
        public let format: AudioFormat
        /// `AudioSpecificConfig` (ISO/IEC 14496-3, 1.6.2.1).
        public let decoderConfiguration: SharedBytes
        /// Bits a second.
        public let bitrate: Int
        /// Samples in an access unit: 1024 for AAC-LC.
        public let frameLength: Int

        /// A description of a coded audio track.
        public init(format: AudioFormat, decoderConfiguration: SharedBytes, bitrate: Int, frameLength: Int) {
            self.format = format
            self.decoderConfiguration = decoderConfiguration
            self.bitrate = bitrate
            self.frameLength = frameLength
        }
    }

    /// The video.
    public let video: Video
    /// The audio.
    public let audio: Audio

    /// A description of both tracks.
    public init(video: Video, audio: Audio) {
        self.video = video
        self.audio = audio
    }
}
