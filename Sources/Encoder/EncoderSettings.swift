// SPDX-License-Identifier: Apache-2.0

/// How an encoder session codes the program.
package struct EncoderSettings: Sendable, Equatable {
    /// x264's presets, fastest first.
    package enum Preset: String, Sendable, CaseIterable {
        case ultrafast, superfast, veryfast, faster, fast, medium, slow, slower, veryslow
    }

    /// x264's tunings that make sense for a program.
    package enum Tune: String, Sendable, CaseIterable {
        case film, animation, grain, stillimage, fastdecode, zerolatency
    }

    /// H.264 profiles for 8-bit 4:2:0 (ITU-T H.264, Annex A).
    package enum Profile: String, Sendable, CaseIterable {
        case baseline, main, high
    }

    /// What the rate control aims for.
    package enum RateControl: Sendable, Equatable {
        /// This many bits a second on average, and over no second more than that (VBV of 1 s).
        case bitrate(Int)
        /// A constant rate factor, 0 to 51; smaller is better.
        case quality(Double)
    }

    /// Speed against efficiency.
    package var preset: Preset = .veryfast
    /// What the video is like, or what matters.
    package var tune: Tune?
    /// What a decoder must support.
    package var profile: Profile = .high
    /// Size of the stream.
    package var rateControl: RateControl = .bitrate(4_000_000)
    /// Longest distance between two IDR frames.
    package var gop: Duration = .seconds(2)
    /// Consecutive B-frames; nil leaves it to the tuning, which is 2 but for `zerolatency`.
    package var bFrames: Int?
    /// Whether a clock paces the program, and not the encoder.
    package var isLive = true
    /// AAC bits a second.
    package var audioBitrate = 160_000

    /// The defaults of a live stream.
    package init() {}

    var effectiveBFrames: Int {
        if let bFrames { return bFrames }
        return tune == .zerolatency || profile == .baseline ? 0 : 2
    }
}
