// SPDX-License-Identifier: Apache-2.0

package import Media

/// Settings of an encoder session.
package struct EncoderSettings: Sendable, Equatable {
    /// x264's presets except `placebo`, fastest first.
    package enum Preset: String, Sendable, CaseIterable {
        case ultrafast, superfast, veryfast, faster, fast, medium, slow, slower, veryslow
    }

    /// x264's tunings that are useful for a program.
    package enum Tune: String, Sendable, CaseIterable {
        case film, animation, grain, stillimage, fastdecode, zerolatency
    }

    /// H.264 profiles for 8-bit 4:2:0 (ITU-T H.264, Annex A).
    package enum Profile: String, Sendable, CaseIterable {
        case baseline, main, high
    }

    /// The target of the rate control.
    package enum RateControl: Sendable, Equatable {
        /// The average rate in bits per second. It is also the maximum rate of the VBV, which holds one second.
        case bitrate(Int)
        /// A constant rate factor, 0 to 51; smaller is better.
        case quality(Double)
    }

    /// The compromise between speed and efficiency.
    package var preset: Preset = .veryfast
    /// x264's tuning for a kind of video or for a purpose; nil means no tuning.
    package var tune: Tune?
    /// The profile, which determines what a decoder must support.
    package var profile: Profile = .high
    /// The target of the rate control.
    package var rateControl: RateControl = .bitrate(4_000_000)
    /// Maximum interval between two IDR frames. It is rounded up to whole frames.
    package var gop: Duration = .seconds(2)
    /// Number of consecutive B-frames; nil means 2, or 0 with the tuning `zerolatency` or the profile `baseline`.
    package var bFrames: Int?
    /// Whether a clock determines the program's speed. False means that the program runs as fast as the encoder can.
    package var isLive = true
    /// AAC bits per second.
    package var audioBitrate = 160_000

    /// Creates the default settings of a live stream.
    package init() {}

    var effectiveBFrames: Int {
        if let bFrames { return bFrames }
        return tune == .zerolatency || profile == .baseline ? 0 : 2
    }
}

extension VideoFormat {
    /// Creates the format in which frames like those of `track` are encoded. If the size or the frame rate of `track`
    /// is unknown, 1280x720 or 25 frames per second is used instead.
    package init(codedLike track: TrackDescription?) {
        let frames = track?.frameFormat ?? FrameFormat(width: 1280, height: 720)
        self.init(nearestTo: frames, frameRate: track?.nominalRate ?? FrameRate(25))
        color = frames.color.resolved(width: width, height: height)
    }
}
