// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
public import Media

/// What is needed to hand on coded packets as they are, without decoding them.
extension Demuxer {
    /// The coding of the best video and audio in the words that outputs use; nil unless they are H.264 with 4-byte
    /// lengths (as in MP4 and FLV) and AAC.
    public var codedDescription: StreamDescription? {
        guard let video = bestVideo?.codedVideo, let audio = bestAudio?.codedAudio else { return nil }
        return StreamDescription(video: video, audio: audio)
    }
}

extension StreamInfo {
    fileprivate var codedVideo: TrackDescription? {
        let values = parameters.pointer.pointee
        // An AVCDecoderConfigurationRecord: version 1, and in its fifth byte how many bytes a length has, less one.
        guard values.codec_id == AV_CODEC_ID_H264, let video, let record = parameters.extraData, record.count > 6,
            record[0] == 1, record[4] & 3 == 3, video.width > 0, video.height > 0
        else { return nil }
        return TrackDescription(
            video: .h264,
            frames: FrameFormat(
                width: video.width, height: video.height, sampleAspectRatio: video.sampleAspectRatio ?? .square,
                color: video.color),
            timeBase: timeBase, decoderConfiguration: SharedBytes(record), bitrate: Int(values.bit_rate),
            nominalRate: video.averageRate, reorderDepth: Int64(values.video_delay))
    }

    fileprivate var codedAudio: TrackDescription? {
        let values = parameters.pointer.pointee
        guard values.codec_id == AV_CODEC_ID_AAC, values.sample_rate > 0, let configuration = parameters.extraData
        else { return nil }
        let channels = Int(relay_parameters_channels(parameters.pointer))
        return TrackDescription(
            audio: .aac, format: AudioFormat(sampleRate: values.sample_rate, channels: max(1, channels)),
            timeBase: timeBase, decoderConfiguration: SharedBytes(configuration), bitrate: Int(values.bit_rate),
            frameLength: 1024)
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
    /// `track` must be that of its stream, in the stream's time base.
    public func encodedPacket(of track: TrackDescription) -> EncodedPacket? {
        let values = packet.pointee
        guard let dts, let data = values.data, values.size > 0 else { return nil }
        let payload = SharedBytes(UnsafeBufferPointer(start: data, count: Int(values.size)))
        return EncodedPacket(
            of: track, pts: max(pts ?? dts, dts), dts: dts, duration: values.duration,
            isKeyframe: track.kind == .audio || values.flags & AV_PKT_FLAG_KEY != 0,
            isDisposable: track.codec == .h264 && AccessUnit.isDisposable(payload), payload: payload)
    }
}

extension Codec {
    /// libavcodec's number of the codec.
    var libavID: AVCodecID {
        switch self {
        case .h264: AV_CODEC_ID_H264
        case .hevc: AV_CODEC_ID_HEVC
        case .av1: AV_CODEC_ID_AV1
        case .aac: AV_CODEC_ID_AAC
        case .opus: AV_CODEC_ID_OPUS
        case .mp3: AV_CODEC_ID_MP3
        case .ac3: AV_CODEC_ID_AC3
        case .scte35: AV_CODEC_ID_SCTE_35
        case .amf0: AV_CODEC_ID_NONE
        }
    }
}
