// SPDX-License-Identifier: Apache-2.0

package import Media

/// Streams and packets for tests.
package enum Samples {
    /// 720p30 and AAC, with as much of their configuration as most tests need.
    package static let description = StreamDescription(
        video: .init(
            format: VideoFormat(width: 1280, height: 720, frameRate: FrameRate(30)),
            decoderConfiguration: SharedBytes([1, 0x64, 0, 0x1F]), bitrate: 2_500_000, reorderDepth: 2,
            encoderSettings: ""),
        audio: .init(
            format: .program, decoderConfiguration: SharedBytes([0x11, 0x90]), bitrate: 128_000, frameLength: 1024))

    /// A frame; the times are in frames.
    package static func video(
        pts: Int64, dts: Int64, rate: FrameRate = FrameRate(30), isKeyframe: Bool = false, bytes: Int = 4
    ) -> EncodedPacket {
        EncodedPacket(
            track: .video, pts: pts, dts: dts, duration: 1, timeBase: rate.timeBase, isKeyframe: isKeyframe,
            payload: SharedBytes((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 7) }))
    }

    /// An AAC frame of one byte; `pts` is in samples.
    package static func audio(pts: Int64) -> EncodedPacket {
        EncodedPacket(
            track: .audio, pts: pts, dts: pts, duration: 1024, timeBase: AudioFormat.program.timeBase,
            isKeyframe: true, payload: SharedBytes([0xAA]))
    }
}
