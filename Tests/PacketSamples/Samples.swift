// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Streams and packets for tests.
package enum Samples {
    /// The description of 720p30 and AAC, with those parts of the configuration that most tests need.
    package static let description = StreamDescription(video: track(FrameRate(30)), audio: audioTrack)

    /// Stereo AAC at 48 kHz.
    package static let audioTrack = TrackDescription(
        format: .program, decoderConfiguration: SharedBytes([0x11, 0x90]), bitrate: 128_000, frameLength: 1024)

    private static let tracks = Mutex<[FrameRate: TrackDescription]>([:])

    /// The description of 720p at `rate`. There is one object for each rate, because packets are compared by the
    /// identity of their description.
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

    /// The description of 360p30 with another configuration, as from a sender that was restarted.
    package static let otherTrack = TrackDescription(
        format: VideoFormat(width: 640, height: 360, frameRate: FrameRate(30)),
        decoderConfiguration: SharedBytes(
            [1, 0x4D, 0, 0x1E, 0xFF, 0xE1, 0, 4, 0x67, 0x4D, 0, 0x1E, 1, 0, 4, 0x68, 0xEE, 0x3C, 0x80]),
        bitrate: 800_000, reorderDepth: 0, encoderSettings: "")

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

extension EncodedPacket {
    /// The same packet with the description `track`.
    package func recoded(as track: TrackDescription) -> EncodedPacket {
        EncodedPacket(
            of: track, pts: pts, dts: dts, duration: duration, isKeyframe: isKeyframe, isDisposable: isDisposable,
            payload: payload)
    }
}

extension [UInt8] {
    /// A frame whose NAL units have lengths of 2 bytes, made from this one with lengths of 4 bytes.
    package var shortLengths: [UInt8] {
        var (bytes, start): ([UInt8], Int) = ([], 0)
        while start + 4 <= count {
            let length = self[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
            bytes += self[start + 2..<start + 4 + length]
            start += 4 + length
        }
        return bytes
    }
}
