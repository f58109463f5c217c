// SPDX-License-Identifier: Apache-2.0

import Media

/// A program of 25 small frames a second with audio. Each second begins with a keyframe.
enum SimulatedMedia {
    static let rate = FrameRate(25)
    /// The number of frames in a second.
    static let second: Int64 = 25
    static let description = StreamDescription(video: video, audio: audio)

    private static let video = TrackDescription(
        format: VideoFormat(width: 320, height: 180, frameRate: rate),
        decoderConfiguration: SharedBytes([1, 100, 0, 31, 255, 224, 0]), bitrate: 500_000, reorderDepth: 0,
        encoderSettings: "x264 test settings")
    private static let audio = TrackDescription(
        format: .program, decoderConfiguration: SharedBytes([0x11, 0x90]), bitrate: 128_000, frameLength: 1024)

    /// The packets of the frames `frames`, in decoding order. Before the first frame of the program there is one packet
    /// of priming.
    static func packets(_ frames: Range<Int64>) -> [EncodedPacket] {
        var packets = frames.map { frame in
            EncodedPacket(
                of: video, pts: frame, dts: frame, duration: 1, isKeyframe: frame % second == 0,
                // One NAL unit with its length.
                payload: SharedBytes(
                    [0, 0, 0, 96] + [UInt8](repeating: UInt8(truncatingIfNeeded: frame) | 1, count: 96)))
        }
        // A frame lasts 1920 samples at 48 kHz.
        let first = frames.lowerBound == 0 ? -1 : (frames.lowerBound * 1920 + 1023) / 1024
        packets += (first..<(frames.upperBound * 1920 + 1023) / 1024).map { number in
            EncodedPacket(
                of: audio, pts: number * 1024, dts: number * 1024, duration: 1024, isKeyframe: true,
                payload: SharedBytes([UInt8](repeating: 7, count: 20)))
        }
        return packets.sorted { ($0.programDts, $0.track.rawValue) < ($1.programDts, $1.track.rawValue) }
    }
}

/// Ignores keyframe requests, because the program has a keyframe each second.
final class DeafKeyframes: KeyframeRequester {
    func requestKeyframe(at programTime: ProgramInstant?) {}
}
