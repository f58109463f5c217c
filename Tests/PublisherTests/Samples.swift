// SPDX-License-Identifier: Apache-2.0

import Glibc
import Media

@testable import Publisher

/// What the tests of this target share.
enum Samples {
    static let description = StreamDescription(
        video: .init(
            format: VideoFormat(width: 1280, height: 720, frameRate: FrameRate(30)),
            decoderConfiguration: SharedBytes([1, 0x64, 0, 0x1F]), bitrate: 2_500_000, reorderDepth: 2,
            encoderSettings: ""),
        audio: .init(
            format: .program, decoderConfiguration: SharedBytes([0x11, 0x90]), bitrate: 128_000, frameLength: 1024))

    static func video(
        pts: Int64, dts: Int64, rate: FrameRate = FrameRate(30), isKeyframe: Bool = false, bytes: Int = 4
    ) -> EncodedPacket {
        EncodedPacket(
            track: .video, pts: pts, dts: dts, duration: 1, timeBase: rate.timeBase, isKeyframe: isKeyframe,
            payload: SharedBytes((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 7) }))
    }

    static func audio(pts: Int64) -> EncodedPacket {
        EncodedPacket(
            track: .audio, pts: pts, dts: pts, duration: 1024, timeBase: AudioFormat.program.timeBase,
            isKeyframe: true, payload: SharedBytes([0xAA]))
    }
}

extension OutboundBuffer {
    /// The bytes that a socket would get.
    var bytes: [UInt8] {
        withVectors(limit: .max) { vectors in
            vectors.flatMap { Array(UnsafeRawBufferPointer(start: $0.iov_base, count: $0.iov_len)) }
        }
    }
}
