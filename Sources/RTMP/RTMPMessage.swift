// SPDX-License-Identifier: Apache-2.0

internal import Media

/// One RTMP message (Adobe RTMP 1.0, 5.3.1): a few bytes of its own and a shared payload behind them.
package struct RTMPMessage {
    /// What stands in front of the payload within the message's body (Adobe FLV 10.1, E.4.2 and E.4.3; Enhanced RTMP v2,
    /// "Enhanced Audio" and "Enhanced Video").
    enum Prefix: Equatable {
        case none
        /// AAC: the tag byte and the packet type.
        case audio(packetType: UInt8)
        /// MP3: the tag byte alone. It says 44.1 kHz, because FLV has no word for 48; decoders read the frame's own header.
        case mp3(isStereo: Bool)
        /// AVC: frame type and codec, packet type, composition time.
        case video(isKeyframe: Bool, packetType: UInt8, compositionTime: Int32)
        /// Any other audio: the packet type, and the codec as a FourCC.
        case enhancedAudio(packetType: UInt8, fourCC: FourCC)
        /// Any other video: frame type and packet type, and the codec as a FourCC; a composition time, where codec and packet
        /// type have one.
        case enhancedVideo(isKeyframe: Bool, packetType: UInt8, fourCC: FourCC, compositionTime: Int32?)

        var count: Int {
            switch self {
            case .none: 0
            case .audio: 2
            case .mp3: 1
            case .video, .enhancedAudio: 5
            case .enhancedVideo(_, _, _, let time): time == nil ? 5 : 8
            }
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
            case .mp3(let isStereo): bytes[start] = isStereo ? 0x2F : 0x2E
            case .enhancedAudio(let packetType, let fourCC):
                bytes[start] = 0x90 | packetType
                bytes.storeBigEndian(fourCC.code, bytes: 4, at: start + 1)
            case .enhancedVideo(let isKeyframe, let packetType, let fourCC, let time):
                bytes[start] = 0x80 | (isKeyframe ? 0x10 : 0x20) | packetType
                bytes.storeBigEndian(fourCC.code, bytes: 4, at: start + 1)
                if let time { bytes.storeBigEndian(UInt32(bitPattern: time), bytes: 3, at: start + 5) }
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
    /// Milliseconds since the connection's first message.
    var timestamp: Int64 = 0
    var prefix = Prefix.none
    let payload: SharedBytes
    /// Whether the last byte completes a frame that counts.
    var endsFrame = false

    /// Audio, video and data each have a chunk stream of their own; commands share librtmp's, control has the
    /// protocol's (5.4).
    var chunkStream: UInt8 {
        switch kind {
        case .audio: 4
        case .video: 6
        case .data: 8
        case .command: 3
        default: 2
        }
    }

    /// Whether the message belongs to the published stream rather than to the connection.
    var isOfStream: Bool { kind == .audio || kind == .video || kind == .data }
    var bodyCount: Int { prefix.count + payload.count }
}

extension UnsafeMutableRawBufferPointer {
    /// Stores the low `bytes` bytes of `value`, most significant first.
    func storeBigEndian(_ value: UInt32, bytes: Int, at start: Int) {
        for index in 0..<bytes {
            self[start + index] = UInt8(truncatingIfNeeded: value >> (8 * (bytes - 1 - index)))
        }
    }
}
