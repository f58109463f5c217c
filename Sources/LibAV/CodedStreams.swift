// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
public import Media

/// What is needed to hand on coded packets as they are, without decoding them.
extension Demuxer {
    /// The coding of the best video and audio in the words that outputs use; nil unless they are H.264 with 4-byte
    /// lengths (as in MP4 and FLV) and AAC. A rate that the container does not state is taken for 30.
    public var codedDescription: StreamDescription? {
        guard let video = bestVideo?.codedVideo, let audio = bestAudio?.codedAudio else { return nil }
        return StreamDescription(video: video, audio: audio)
    }
}

extension StreamInfo {
    fileprivate var codedVideo: StreamDescription.Video? {
        let values = parameters.pointer.pointee
        // An AVCDecoderConfigurationRecord: version 1, and in its fifth byte how many bytes a length has, less one.
        guard values.codec_id == AV_CODEC_ID_H264, let video, let record = parameters.extraData, record.count > 6,
            record[0] == 1, record[4] & 3 == 3, video.width % 2 == 0, video.height % 2 == 0
        else { return nil }
        return StreamDescription.Video(
            format: VideoFormat(
                width: video.width, height: video.height, frameRate: video.averageRate ?? FrameRate(30),
                sampleAspectRatio: video.sampleAspectRatio ?? .square, color: video.color),
            decoderConfiguration: SharedBytes(record), bitrate: Int(values.bit_rate),
            reorderDepth: Int64(values.video_delay), encoderSettings: "")
    }

    fileprivate var codedAudio: StreamDescription.Audio? {
        let values = parameters.pointer.pointee
        guard values.codec_id == AV_CODEC_ID_AAC, values.sample_rate > 0, let configuration = parameters.extraData
        else { return nil }
        let channels = Int(relay_parameters_channels(parameters.pointer))
        return StreamDescription.Audio(
            format: AudioFormat(sampleRate: values.sample_rate, channels: max(1, channels)),
            decoderConfiguration: SharedBytes(configuration), bitrate: Int(values.bit_rate), frameLength: 1024)
    }
}

extension CodecParameters {
    fileprivate var extraData: [UInt8]? {
        let values = pointer.pointee
        guard let bytes = values.extradata, values.extradata_size > 0 else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(values.extradata_size)))
    }
}

extension PacketBox {
    /// The packet as outputs take it: its bytes copied once, its times unchanged. Nil without bytes or a decoding time.
    /// `stream` must be the one that it belongs to.
    public func encodedPacket(of stream: StreamInfo) -> EncodedPacket? {
        let values = packet.pointee
        guard let dts, let data = values.data, values.size > 0 else { return nil }
        let payload = SharedBytes(UnsafeBufferPointer(start: data, count: Int(values.size)))
        return EncodedPacket(
            track: stream.kind, pts: max(pts ?? dts, dts), dts: dts, duration: values.duration,
            timeBase: stream.timeBase, isKeyframe: stream.kind == .audio || values.flags & AV_PKT_FLAG_KEY != 0,
            isDisposable: stream.kind == .video && AccessUnit.isDisposable(payload), payload: payload)
    }
}
