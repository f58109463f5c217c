// SPDX-License-Identifier: Apache-2.0

/// How an encoder session codes the program.
public struct EncoderSettings: Sendable, Equatable {
    /// x264's presets, fastest first.
    public enum Preset: String, Sendable, CaseIterable {
        case ultrafast, superfast, veryfast, faster, fast, medium, slow, slower, veryslow
    }

    /// x264's tunings that make sense for a program.
    public enum Tune: String, Sendable, CaseIterable {
        case film, animation, grain, stillimage, fastdecode, zerolatency
    }

    /// H.264 profiles for 8-bit 4:2:0 (ITU-T H.264, Annex A).
    public enum Profile: String, Sendable, CaseIterable {
        case baseline, main, high
    }

    /// What the rate control aims for.
    public enum RateControl: Sendable, Equatable {
        /// This many bits a second on average, and over no second more than that (VBV of 1 s).
        case bitrate(Int)
        /// A constant rate factor, 0 to 51; smaller is better.
        case quality(Double)
    }

    /// Speed against efficiency.
    public var preset: Preset = .veryfast
    /// What the video is like, or what matters.
    public var tune: Tune?
    /// What a decoder must support.
    public var profile: Profile = .high
    /// Size of the stream.
    public var rateControl: RateControl = .bitrate(4_000_000)
    /// Longest distance between two IDR frames.
    public var gop: Duration = .seconds(2)
    /// Consecutive B-frames; nil leaves it to the tuning, which is 2 but for `zerolatency`.
    public var bFrames: Int?
    /// Whether a clock paces the program, and not the encoder.
    public var isLive = true
    /// AAC bits a second.
    public var audioBitrate = 160_000

    /// The defaults of a live stream.
    public init() {}

    var effectiveBFrames: Int {
        if let bFrames { return bFrames }
        return tune == .zerolatency || profile == .baseline ? 0 : 2
    }
}
