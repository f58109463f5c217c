// SPDX-License-Identifier: Apache-2.0

package import Media

/// The messages that begin and end a published stream.
package enum RTMPHeaders {
    /// `onMetaData`, AVC and AAC configuration, all at 0. A server is told to keep the first for players, a player is not.
    package static func messages(for description: StreamDescription, isForPlayer: Bool = false) -> [RTMPMessage] {
        [
            RTMPMessage(kind: .data, payload: SharedBytes(metadata(description, isForPlayer: isForPlayer))),
            RTMPMessage(
                kind: .video, prefix: .video(isKeyframe: true, packetType: 0, compositionTime: 0),
                payload: description.video.decoderConfiguration),
            RTMPMessage(
                kind: .audio, prefix: .audio(packetType: 0), payload: description.audio.decoderConfiguration),
        ]
    }

    /// The body of the `onMetaData` message: what OBS sends, name by name, because servers were written against it.
    static func metadata(_ description: StreamDescription, isForPlayer: Bool = false) -> [UInt8] {
        let (video, audio) = (description.video, description.audio)
        var writer = AMF0Writer()
        if !isForPlayer { writer.write("@setDataFrame") }
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

    /// What tells a player that the stream is over: Stream EOF (7.1.7), and the two codes that players wait for.
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
