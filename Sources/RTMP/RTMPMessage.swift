// SPDX-License-Identifier: Apache-2.0

package import Media

/// One RTMP message (Adobe RTMP 1.0, 5.3.1): a few bytes of its own and a shared payload behind them.
package struct RTMPMessage {
    /// What stands in front of the payload within the message's body (Adobe FLV 10.1, E.4.2 and E.4.3).
    enum Prefix: Equatable {
        case none
        /// AAC: the tag byte and the packet type.
        case audio(packetType: UInt8)
        /// AVC: frame type and codec, packet type, composition time.
        case video(isKeyframe: Bool, packetType: UInt8, compositionTime: Int32)

        var count: Int {
            switch self {
            case .none: 0
            case .audio: 2
            case .video: 5
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

/// The messages that begin a published stream.
package enum RTMPHeaders {
    /// `onMetaData`, AVC and AAC configuration, all at 0.
    package static func messages(for description: StreamDescription) -> [RTMPMessage] {
        [
            RTMPMessage(kind: .data, payload: SharedBytes(metadata(description))),
            RTMPMessage(
                kind: .video, prefix: .video(isKeyframe: true, packetType: 0, compositionTime: 0),
                payload: description.video.decoderConfiguration),
            RTMPMessage(
                kind: .audio, prefix: .audio(packetType: 0), payload: description.audio.decoderConfiguration),
        ]
    }

    /// The body of the `onMetaData` message: what OBS sends, name by name, because servers were written against it.
    static func metadata(_ description: StreamDescription) -> [UInt8] {
        let (video, audio) = (description.video, description.audio)
        var writer = AMF0Writer()
        writer.write("@setDataFrame")
        writer.write("onMetaData")
        writer.writeArray([
            ("duration", .number(0)), ("fileSize", .number(0)),
            ("width", .number(Double(video.format.width))), ("height", .number(Double(video.format.height))),
            ("videocodecid", .number(7)), ("videodatarate", .number(Double(video.bitrate) / 1000)),
            ("framerate", .number(video.format.frameRate.value)),
            ("audiocodecid", .number(10)), ("audiodatarate", .number(Double(audio.bitrate) / 1000)),
            ("audiosamplerate", .number(Double(audio.format.sampleRate))), ("audiosamplesize", .number(16)),
            ("audiochannels", .number(Double(audio.format.channels))),
            ("stereo", .boolean(audio.format.channels == 2)),
            ("2.1", .boolean(false)), ("3.1", .boolean(false)), ("4.0", .boolean(false)),
            ("4.1", .boolean(false)), ("5.1", .boolean(false)), ("7.1", .boolean(false)),
            ("encoder", .string("relay")),
        ])
        return writer.bytes
    }

    /// The two commands that end a published stream: `FCUnpublish` and `deleteStream` (7.2.2.3).
    package static func teardown(playPath: String, streamID: UInt32) -> [RTMPMessage] {
        var unpublish = AMF0Writer()
        unpublish.write("FCUnpublish")
        unpublish.write(0)
        unpublish.writeNull()
        unpublish.write(playPath)
        var delete = AMF0Writer()
        delete.write("deleteStream")
        delete.write(0)
        delete.writeNull()
        delete.write(Double(streamID))
        return [unpublish, delete].map { RTMPMessage(kind: .command, payload: SharedBytes($0.bytes)) }
    }
}

/// The clock of one connection: milliseconds since its first packet.
package struct RTMPTimeline {
    private var origin: Int64?
    private var lastVideo: Int64 = 0
    private var lastAudio: Int64 = 0

    /// A clock that begins with the first packet.
    package init() {}

    /// When `packet` is sent, in milliseconds; moves the clock there.
    mutating func timestamp(of packet: EncodedPacket) -> Int64 {
        let decoding = packet.dtsNanoseconds.milliseconds
        let start = origin ?? decoding
        origin = start
        // Receivers take a step back for a wrap of the 32-bit clock.
        switch packet.track {
        case .audio:
            lastAudio = max(decoding - start, lastAudio)
            return lastAudio
        case .video:
            lastVideo = max(decoding - start, lastVideo)
            return lastVideo
        }
    }

    /// The message that carries `packet`.
    package mutating func message(for packet: EncodedPacket) -> RTMPMessage {
        let timestamp = timestamp(of: packet)
        switch packet.track {
        case .audio:
            return RTMPMessage(
                kind: .audio, timestamp: timestamp, prefix: .audio(packetType: 1), payload: packet.payload)
        case .video:
            // Both are floored before they are subtracted: flooring the difference would be 1 ms off in most frames.
            let offset = packet.ptsNanoseconds.milliseconds - packet.dtsNanoseconds.milliseconds
            let prefix = RTMPMessage.Prefix.video(
                isKeyframe: packet.isKeyframe, packetType: 1, compositionTime: Int32(clamping: offset))
            return RTMPMessage(
                kind: .video, timestamp: timestamp, prefix: prefix, payload: packet.payload, endsFrame: true)
        }
    }
}

extension Int64 {
    /// Nanoseconds as milliseconds, rounded down; the same as rounding down from any finer clock at once.
    fileprivate var milliseconds: Int64 { self >= 0 ? self / 1_000_000 : (self - 999_999) / 1_000_000 }
}
