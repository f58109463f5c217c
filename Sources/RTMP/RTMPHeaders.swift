// SPDX-License-Identifier: Apache-2.0

package import Media

/// The messages at the start and the end of a published stream.
package enum RTMPHeaders {
    /// `onMetaData` and the decoder configuration of each track that needs one, all at time 0. For a server,
    /// `onMetaData` is preceded by `@setDataFrame`, which tells the server to store it for players.
    package static func messages(for description: StreamDescription, isForPlayer: Bool = false) -> [RTMPMessage] {
        let body = metadata(description, isForPlayer: isForPlayer)
        let metadata = RTMPMessage(kind: .data, payload: SharedBytes(body))
        return [metadata] + [description.video, description.audio].compactMap { $0.flatMap(configuration) }
    }

    /// The messages before the first packet of `track` with a new codec configuration, all at `timestamp` in
    /// milliseconds: `onMetaData` of the whole `description`, which already has the new track, and the track's decoder
    /// configuration, if it needs one.
    package static func messages(
        of track: TrackDescription, in description: StreamDescription, at timestamp: Int64, isForPlayer: Bool = false
    ) -> [RTMPMessage] {
        let body = metadata(description, isForPlayer: isForPlayer)
        let metadata = RTMPMessage(kind: .data, payload: SharedBytes(body))
        return ([metadata] + [configuration(track)].compactMap(\.self)).map { message in
            var message = message
            message.timestamp = timestamp
            return message
        }
    }

    /// The message with a track's decoder configuration; nil if the track needs no configuration.
    private static func configuration(_ track: TrackDescription) -> RTMPMessage? {
        switch track.codec {
        case .h264, .hevc, .av1:
            let prefix =
                FLVVideo.Codec(enhanced: track.codec).map {
                    .enhancedVideo($0, isKeyframe: true, packetType: 0, compositionTime: 0)
                } ?? RTMPMessage.Prefix.video(isKeyframe: true, packetType: 0, compositionTime: 0)
            return RTMPMessage(kind: .video, prefix: prefix, payload: track.decoderConfiguration)
        case .aac, .opus:
            let prefix =
                FLVAudio.Codec(enhanced: track.codec).map { .enhancedAudio($0, packetType: 0) }
                ?? RTMPMessage.Prefix.audio(packetType: 0)
            return RTMPMessage(kind: .audio, prefix: prefix, payload: track.decoderConfiguration)
        // The packets of these codecs need no configuration.
        case .mp3, .ac3, .pcm, .scte35, .amf0, .text: return nil
        }
    }

    /// The codec's number in `onMetaData`: Adobe's number (FLV 10.1, E.4.2.1 and E.4.3.1), or the FourCC as a number.
    private static func codecID(_ codec: Codec) -> Double {
        if let fourCC = codec.enhancedFourCC { return fourCC.utf8.reduce(0) { $0 * 256 + Double($1) } }
        return switch codec {
        case .h264: 7
        case .aac: 10
        default: 2  // MP3
        }
    }

    /// The body of the `onMetaData` message, with the same names as OBS sends, because servers were written for OBS.
    /// Properties of a missing track are left out.
    static func metadata(_ description: StreamDescription, isForPlayer: Bool = false) -> [UInt8] {
        var writer = AMF0Writer()
        if !isForPlayer { writer.write("@setDataFrame") }
        writer.write("onMetaData")
        var properties: [(String, AMF0Value)] = [("duration", .number(0)), ("fileSize", .number(0))]
        if let video = description.video, let frames = video.frameFormat {
            properties += [
                ("width", .number(Double(frames.width))), ("height", .number(Double(frames.height))),
                ("videocodecid", .number(codecID(video.codec))),
                ("videodatarate", .number(Double(video.bitrate) / 1000)),
            ]
            // `framerate` is left out if the frame rate varies.
            if let rate = video.nominalRate { properties.append(("framerate", .number(rate.value))) }
        }
        if let audio = description.audio, let format = audio.audioFormat {
            properties += [
                ("audiocodecid", .number(codecID(audio.codec))),
                ("audiodatarate", .number(Double(audio.bitrate) / 1000)),
                ("audiosamplerate", .number(Double(format.sampleRate))), ("audiosamplesize", .number(16)),
                ("audiochannels", .number(Double(format.channels))), ("stereo", .boolean(format.channels == 2)),
                ("2.1", .boolean(false)), ("3.1", .boolean(false)), ("4.0", .boolean(false)),
                ("4.1", .boolean(false)), ("5.1", .boolean(false)), ("7.1", .boolean(false)),
            ]
        }
        writer.writeArray(properties + [("encoder", .string("relay"))])
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

    /// The messages that tell a player that the stream is over: Stream EOF (7.1.7), and the two status codes that
    /// players expect.
    package static func playEnd(streamID: UInt32) -> [RTMPMessage] {
        let end = SharedBytes(count: 6) { bytes in
            bytes.storeBigEndian(UInt32(RTMPAnswers.UserEvent.streamEnd), bytes: 2, at: 0)
            bytes.storeBigEndian(streamID, bytes: 4, at: 2)
        }
        let codes = ["NetStream.Play.UnpublishNotify", "NetStream.Play.Stop"]
        return [RTMPMessage(kind: .userControl, payload: end)]
            + codes.map { code in
                var writer = AMF0Writer()
                writer.write("onStatus")
                writer.write(0)
                writer.writeNull()
                writer.writeObject(RTMPAnswers.Status.success(code, "The stream has ended.").properties)
                return RTMPMessage(kind: .command, payload: SharedBytes(writer.bytes))
            }
    }
}
