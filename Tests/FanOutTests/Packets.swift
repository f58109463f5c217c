// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media

/// Packets of a program at 30 frames per second and 48 kHz, by number.
enum Packets {
    static let video = TrackDescription(
        format: VideoFormat(width: 1280, height: 720, frameRate: FrameRate(30)),
        decoderConfiguration: SharedBytes([1]), bitrate: 2_500_000, reorderDepth: 2, encoderSettings: "")
    static let audio = TrackDescription(
        format: .program, decoderConfiguration: SharedBytes([0x11, 0x90]), bitrate: 128_000, frameLength: 1024)

    static func video(_ index: Int64, key: Bool = false, disposable: Bool = false, size: Int = 100) -> EncodedPacket {
        EncodedPacket(
            of: video, pts: index, dts: index, duration: 1, isKeyframe: key, isDisposable: disposable,
            payload: SharedBytes([UInt8](repeating: 0, count: size)))
    }

    static func audio(_ index: Int64) -> EncodedPacket {
        EncodedPacket(
            of: audio, pts: index * 1024, dts: index * 1024, duration: 1024, isKeyframe: true,
            payload: SharedBytes([0]))
    }

    /// The frames with the numbers `range`. Each multiple of `gop` is a keyframe. In each GOP every second frame is
    /// disposable.
    static func video(_ range: Range<Int64>, gop: Int64 = 60) -> [EncodedPacket] {
        range.map { video($0, key: $0 % gop == 0, disposable: $0 % gop % 2 == 1) }
    }
}

extension PacketQueue {
    func drain() -> [EncodedPacket] {
        var packets: [EncodedPacket] = []
        while let packet = pop() { packets.append(packet) }
        return packets
    }
}

extension StreamDescription {
    /// The stream description that tests with scripted attempts use.
    static let sample = StreamDescription(video: Packets.video, audio: Packets.audio)
}
