// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Streams and packets for tests.
package enum Samples {
    /// 720p30 and AAC, with as much of their configuration as most tests need.
    package static let description = StreamDescription(video: track(FrameRate(30)), audio: audioTrack)

    /// Stereo AAC at 48 kHz.
    package static let audioTrack = TrackDescription(
        format: .program, decoderConfiguration: SharedBytes([0x11, 0x90]), bitrate: 128_000, frameLength: 1024)

    private static let tracks = Mutex<[FrameRate: TrackDescription]>([:])

    /// 720p at `rate`: for each rate one object, because packets are compared by it.
    package static func track(_ rate: FrameRate) -> TrackDescription {
        tracks.withLock { tracks in
            let track =
                tracks[rate]
                ?? TrackDescription(
                    format: VideoFormat(width: 1280, height: 720, frameRate: rate),
                    decoderConfiguration: SharedBytes([1, 0x64, 0, 0x1F]), bitrate: 2_500_000, reorderDepth: 2,
                    encoderSettings: "")
            tracks[rate] = track
            return track
        }
    }

    /// A frame; the times are in frames.
    package static func video(
        pts: Int64, dts: Int64, rate: FrameRate = FrameRate(30), isKeyframe: Bool = false, bytes: Int = 4
    ) -> EncodedPacket {
        EncodedPacket(
            of: track(rate), pts: pts, dts: dts, duration: 1, isKeyframe: isKeyframe,
            payload: SharedBytes((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 7) }))
    }

    /// An AAC frame of one byte; `pts` is in samples.
    package static func audio(pts: Int64) -> EncodedPacket {
        EncodedPacket(
            of: audioTrack, pts: pts, dts: pts, duration: 1024, isKeyframe: true, payload: SharedBytes([0xAA]))
    }
}
