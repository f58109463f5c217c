// SPDX-License-Identifier: Apache-2.0

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
