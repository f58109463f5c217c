// SPDX-License-Identifier: Apache-2.0

internal import Media

/// One RTMP message (Adobe RTMP 1.0, 5.3.1): a few bytes of its own, followed by a shared payload.
package struct RTMPMessage {
    /// The bytes in the message's body before the payload (Adobe FLV 10.1, E.4.2 and E.4.3).
    enum Prefix: Equatable {
        case none
        /// AAC: the tag byte and the packet type.
        case audio(packetType: UInt8)
        /// AVC: frame type and codec, packet type, composition time.
        case video(isKeyframe: Bool, packetType: UInt8, compositionTime: Int32)
        /// MP3, which needs only the tag byte.
        case mp3
        /// Any other audio codec, in the form of Enhanced RTMP v2: packet type and codec.
        case enhancedAudio(FLVAudio.Codec, packetType: UInt8)
        /// Any other video codec: frame type with packet type, codec, and the composition time if the frame has one.
        case enhancedVideo(FLVVideo.Codec, isKeyframe: Bool, packetType: UInt8, compositionTime: Int32)

        var count: Int {
            switch self {
            case .none: 0
            case .mp3: 1
            case .audio: 2
            case .video, .enhancedAudio: 5
            case .enhancedVideo(let codec, _, let type, let time): Self.hasTime(codec, type, time) ? 8 : 5
            }
        }

        /// Whether the prefix has a composition time. Only coded frames have one, and AV1 frames do not. A composition
        /// time of 0 is expressed by a packet type of its own.
        private static func hasTime(_ codec: FLVVideo.Codec, _ type: UInt8, _ time: Int32) -> Bool {
            type == FLVPacket.Kind.codedFrames && codec != .av1 && time != 0
        }

        /// Writes the prefix at `bytes[start...]`.
        func write(to bytes: UnsafeMutableRawBufferPointer, at start: Int) {
            switch self {
            case .none: break
            case .audio(let packetType):
                bytes[start] = 0xAF
                bytes[start + 1] = packetType
            case .video(let isKeyframe, let packetType, let time):
                bytes[start] = isKeyframe ? 0x17 : 0x27
                bytes[start + 1] = packetType
                bytes.storeBigEndian(UInt32(bitPattern: time), bytes: 3, at: start + 2)
            case .mp3: bytes[start] = 0x2F
            case .enhancedAudio(let codec, let packetType):
                bytes[start] = 0x90 | packetType
                bytes.storeFourCC(codec.rawValue, at: start + 1)
            case .enhancedVideo(let codec, let isKeyframe, let packetType, let time):
                let hasTime = Self.hasTime(codec, packetType, time)
                let isTimeless = packetType == FLVPacket.Kind.codedFrames && codec != .av1 && !hasTime
                bytes[start] = (isKeyframe ? 0x90 : 0xA0) | (isTimeless ? FLVVideo.codedFramesX : packetType)
                bytes.storeFourCC(codec.rawValue, at: start + 1)
                if hasTime { bytes.storeBigEndian(UInt32(bitPattern: time), bytes: 3, at: start + 5) }
            }
        }
    }

    /// Message types (5.4 and 7.1).
    enum Kind: UInt8 {
        case acknowledgement = 3
        case userControl = 4
        case windowSize = 5
        case audio = 8
        case video = 9
        case data = 18
        case command = 20
    }

    let kind: Kind
    /// The message's time, in milliseconds since the connection's first packet.
    var timestamp: Int64 = 0
    var prefix = Prefix.none
    let payload: SharedBytes
    /// Whether the message's last byte completes a frame, which then counts as sent.
    var endsFrame = false

    /// Audio, video and data each have their own chunk stream. Commands use the same chunk stream as in librtmp;
    /// control messages use the one that the protocol requires (5.4).
    var chunkStream: UInt8 {
        switch kind {
        case .audio: 4
        case .video: 6
        case .data: 8
        case .command: 3
        default: 2
        }
    }

    /// Whether the message belongs to the published stream and not to the connection.
    var isOfStream: Bool { kind == .audio || kind == .video || kind == .data }
    var bodyCount: Int { prefix.count + payload.count }
}

extension UnsafeMutableRawBufferPointer {
    /// Stores a codec's FourCC.
    fileprivate func storeFourCC(_ name: String, at start: Int) {
        for (index, character) in name.utf8.prefix(4).enumerated() { self[start + index] = character }
    }

    /// Stores the low `bytes` bytes of `value`, most significant first.
    func storeBigEndian(_ value: UInt32, bytes: Int, at start: Int) {
        for index in 0..<bytes {
            self[start + index] = UInt8(truncatingIfNeeded: value >> (8 * (bytes - 1 - index)))
        }
    }
}
