// SPDX-License-Identifier: Apache-2.0

package import Media

/// The packets of an imaginary sender: frames and audio with arbitrary bytes, in the order in which they arrive.
package struct GeneratedStream {
    /// How the sender works.
    package struct Shape: Sendable, CustomStringConvertible {
        /// A gap in the stream, 3 s after its start.
        package struct Gap: Sendable {
            package var hasVideo: Bool
            package var hasAudio: Bool
            package var milliseconds: Int64

            package init(hasVideo: Bool = true, hasAudio: Bool = true, milliseconds: Int64) {
                (self.hasVideo, self.hasAudio, self.milliseconds) = (hasVideo, hasAudio, milliseconds)
            }
        }

        /// Frames a second; nil for stills of 33 ms to 1 s in any order.
        package var rate: FrameRate? = FrameRate(25)
        /// Whether relay's own encoders made the packets: a frame lasts one tick, and tracks come in decoding order.
        package var isEncoded = false
        package var hasVideo = true
        package var hasAudio = true
        package var statesDurations = true
        /// The delay of the presentation because of B-frames, in frames.
        package var reorderDepth: Int64 = 0
        /// Audio frames that arrive together.
        package var bundle = 1
        /// Whether a bundle of audio frames arrives when its last frame ends, and not when its first one begins.
        package var isBundleLate = true
        /// How much later all audio arrives than frames of the same time; negative if it arrives earlier.
        package var audioLag: Int64 = 0
        package var gap: Gap?
        /// Samples in an audio frame, and in a second.
        package var audioFrame: (samples: Int64, rate: Int32) = (1024, 48_000)

        package init() {}

        /// Any shape.
        package init(using random: inout some RandomNumberGenerator) {
            let rates = [
                FrameRate(15), FrameRate(24), FrameRate(24000, 1001), FrameRate(25), FrameRate(30000, 1001),
                FrameRate(50), FrameRate(60), FrameRate(10),
            ]
            isEncoded = .random(using: &random)
            rate = isEncoded || Int.random(in: 0..<4, using: &random) > 0 ? rates.randomElement(using: &random) : nil
            statesDurations = isEncoded || .random(using: &random)
            reorderDepth = Int64.random(in: 0...2, using: &random)
            let tracks = Int.random(in: 0..<8, using: &random)
            (hasVideo, hasAudio) = (tracks != 0, tracks != 1)
            if !isEncoded {
                bundle = Int.random(in: 1...12, using: &random)
                isBundleLate = .random(using: &random)
                if Int.random(in: 0..<3, using: &random) == 0 {
                    audioLag = Int64.random(in: -600...600, using: &random)
                }
            }
            guard Int.random(in: 0..<2, using: &random) == 0 else { return }
            let kind = Int.random(in: 0..<3, using: &random)
            gap = Gap(
                hasVideo: kind != 1, hasAudio: kind != 2,
                milliseconds: [100, 200, 500, 900, 1500, 3000, 10_000].randomElement(using: &random) ?? 100)
        }

        package var description: String {
            let tracks = [hasVideo ? "video" : nil, hasAudio ? "audio" : nil].compactMap(\.self)
            var words = [isEncoded ? "encoded" : "copied", tracks.joined(separator: "+")]
            words.append(rate.map { "\($0.value) fps" } ?? "variable rate")
            words.append("reorder \(reorderDepth), \(bundle) audio frames \(isBundleLate ? "late" : "ahead")")
            words.append("of \(audioFrame.samples)/\(audioFrame.rate), lag \(audioLag) ms")
            if !statesDurations { words.append("no durations") }
            if let gap {
                words.append("gap \(gap.milliseconds) ms video \(gap.hasVideo) audio \(gap.hasAudio)")
            }
            return words.joined(separator: ", ")
        }

        /// Whether some frames last longer than 700 ms.
        package var hasStills: Bool { rate == nil || gap != nil }
        /// Whether no packet comes for more than a second, or one track is so late that the clock must be set back. A
        /// lateness of 400 ms is usual, and does not count.
        package var mayJump: Bool {
            let silence = gap.map { ($0.hasVideo || !hasVideo) && ($0.hasAudio || !hasAudio) && $0.milliseconds > 800 }
            return silence ?? false || abs(audioLag) + (isBundleLate ? Int64(bundle) * 22 : 0) > 350
        }
    }

    private static let second: Int64 = 1_000_000_000
    /// High profile, level 3.1: `AVCDecoderConfigurationRecord` with one SPS and one PPS.
    private static let configuration: [UInt8] =
        [1, 0x64, 0, 0x1F, 0xFF, 0xE1, 0, 4, 0x67, 0x64, 0, 0x1F, 1, 0, 4, 0x68, 0xEE, 0x3C, 0x80]

    package let description: StreamDescription
    package let packets: [EncodedPacket]

    /// Six seconds of a stream with the properties `shape`, including its gap.
    package init(_ shape: Shape, using random: inout some RandomNumberGenerator) {
        let end = 6 * Self.second + (shape.gap?.milliseconds ?? 0) * 1_000_000
        let (video, audio) = (Self.videoTrack(shape), Self.audioTrack(shape))
        description = StreamDescription(video: shape.hasVideo ? video : nil, audio: shape.hasAudio ? audio : nil)
        var arrivals: [(time: Int64, packet: EncodedPacket)] = []
        if shape.hasVideo { arrivals += Self.frames(shape, of: video, until: end, using: &random) }
        if shape.hasAudio { arrivals += Self.audio(shape, of: audio, until: end, using: &random) }
        // If two have the same time, the frame comes first; the sort is stable.
        packets = arrivals.sorted { $0.time < $1.time }.map(\.packet)
    }

    private static func videoTrack(_ shape: Shape) -> TrackDescription {
        let rate = shape.rate ?? FrameRate(25)
        return TrackDescription(
            video: .h264, frames: FrameFormat(width: 1280, height: 720),
            timeBase: shape.isEncoded ? rate.timeBase : .mpegTS, decoderConfiguration: SharedBytes(configuration),
            nominalRate: shape.rate, reorderDepth: shape.reorderDepth)
    }

    private static func audioTrack(_ shape: Shape) -> TrackDescription {
        TrackDescription(
            format: AudioFormat(sampleRate: shape.audioFrame.rate, channels: 2),
            decoderConfiguration: SharedBytes([0x11, 0x90]), bitrate: 128_000,
            frameLength: Int(shape.audioFrame.samples))
    }

    private static func frames(
        _ shape: Shape, of track: TrackDescription, until end: Int64, using random: inout some RandomNumberGenerator
    ) -> [(time: Int64, packet: EncodedPacket)] {
        var (time, index, lastKey): (Int64, Int64, Int64) = (0, 0, -Self.second)
        var result: [(time: Int64, packet: EncodedPacket)] = []
        while time < end {
            let step: Int64
            if let rate = shape.rate {
                step = rate.timeBase.rescale(index + 1, to: .nanoseconds) - time
            } else {
                step = ([33, 40, 40, 40, 67, 100, 500, 1000].randomElement(using: &random) ?? 40) * 1_000_000
            }
            let isKeyframe = time - lastKey >= Self.second
            if isKeyframe { lastKey = time }
            if !isMissing(time, shape.gap, \.hasVideo) {
                let dts = TimeBase.nanoseconds.rescale(time, to: track.timeBase)
                let length = max(1, TimeBase.nanoseconds.rescale(step, to: track.timeBase))
                let bytes = isKeyframe ? 12_000 : Int.random(in: 40...5000, using: &random)
                result.append(
                    (
                        time,
                        EncodedPacket(
                            of: track, pts: dts + shape.reorderDepth * length, dts: dts,
                            duration: shape.statesDurations ? length : 0, isKeyframe: isKeyframe,
                            payload: slice(bytes, isKeyframe: isKeyframe))
                    ))
            }
            (time, index) = (time + step, index + 1)
        }
        return result
    }

    /// A slice of this many bytes, preceded by its length.
    private static func slice(_ count: Int, isKeyframe: Bool) -> SharedBytes {
        let length = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
        return SharedBytes(length + [isKeyframe ? 0x65 : 0x41] + [UInt8](repeating: 0x88, count: count - 1))
    }

    private static func audio(
        _ shape: Shape, of track: TrackDescription, until end: Int64, using random: inout some RandomNumberGenerator
    ) -> [(time: Int64, packet: EncodedPacket)] {
        let samples = shape.audioFrame.samples
        let length = track.timeBase.rescale(samples, to: .nanoseconds)
        var result: [(time: Int64, packet: EncodedPacket)] = []
        for index in 0..<(end / length) {
            let time = track.timeBase.rescale(index * samples, to: .nanoseconds)
            guard !isMissing(time, shape.gap, \.hasAudio) else { continue }
            let bundle = Int64(shape.bundle)
            let place = index / bundle * bundle + (shape.isBundleLate ? bundle : 0)
            let arrival = bundle == 1 ? time : track.timeBase.rescale(place * samples, to: .nanoseconds)
            let packet = EncodedPacket(
                of: track, pts: index * samples, dts: index * samples,
                duration: shape.statesDurations ? samples : 0, isKeyframe: true,
                // Silence takes a few bytes.
                payload: SharedBytes([UInt8](repeating: 0x21, count: .random(in: 6...400, using: &random))))
            result.append((arrival + shape.audioLag * 1_000_000, packet))
        }
        return result
    }

    private static func isMissing(_ time: Int64, _ gap: Shape.Gap?, _ track: KeyPath<Shape.Gap, Bool>) -> Bool {
        guard let gap, gap[keyPath: track] else { return false }
        return (3 * second..<3 * second + gap.milliseconds * 1_000_000).contains(time)
    }
}
