// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// Describes streams for outputs, which pass coded packets on without decoding them.
extension Demuxer {
    /// The coding of the best video stream and the best audio stream, in the form for outputs. Nil unless outputs can
    /// carry both: see ``StreamInfo/codedTrack(firstPayload:)``.
    package var codedDescription: StreamDescription? {
        guard let video = bestVideo?.codedTrack(), let audio = bestAudio?.codedTrack() else { return nil }
        return StreamDescription(video: video, audio: audio)
    }
}

extension StreamInfo {
    /// The coding of the stream's packets, in the stream's time base; nil if outputs cannot carry the packets
    /// unchanged, or if the video's size or the audio's sample rate is unknown. Video must be H.264 or HEVC with 4-byte
    /// lengths and separate parameter sets, or AV1 (as in MP4, FLV and Matroska). Audio must be AAC, Opus, MP3 or AC-3.
    /// The configuration of AC-3 is read from `firstPayload`; without this payload it stays empty.
    package func codedTrack(firstPayload: [UInt8]? = nil) -> TrackDescription? {
        codedTrack(parameters.extraData ?? [], firstPayload: firstPayload)
    }

    /// Like ``codedTrack(firstPayload:)``, but with `record` in place of the stream's own decoder configuration.
    func codedTrack(_ record: [UInt8], firstPayload: [UInt8]? = nil) -> TrackDescription? {
        guard let codec else { return nil }
        let values = parameters.pointer.pointee
        switch codec {
        case .h264, .hevc, .av1:
            guard let video, Self.isRecord(record, codec), video.width > 0, video.height > 0 else { return nil }
            return TrackDescription(
                video: codec,
                frames: FrameFormat(
                    width: video.width, height: video.height, sampleAspectRatio: video.sampleAspectRatio ?? .square,
                    color: video.color),
                timeBase: timeBase, decoderConfiguration: SharedBytes(record), bitrate: Int(values.bit_rate),
                nominalRate: video.averageRate, reorderDepth: Int64(values.video_delay),
                displayMatrix: video.orientation.displayMatrix(video.width, video.height))
        case .aac, .opus, .mp3, .ac3:
            // A track that began after probing has no format yet, so the format is read from the track's first frame.
            let stated = firstPayload.flatMap { codec == .mp3 ? MP3Header($0)?.format : AC3Header.format($0) }
            let rate = values.sample_rate > 0 ? values.sample_rate : stated?.sampleRate ?? 0
            guard rate > 0, !record.isEmpty || codec == .mp3 || codec == .ac3 else { return nil }
            let channels = max(Int(relay_parameters_channels(parameters.pointer)), stated?.channels ?? 1)
            let dac3 = firstPayload.flatMap(AC3Header.specificBox) ?? []
            return TrackDescription(
                audio: codec,
                format: AudioFormat(
                    // Opus is always decoded at 48 kHz, whatever the sample rate of the original was (RFC 7845, 5.1).
                    sampleRate: codec == .opus ? 48_000 : rate, channels: channels),
                timeBase: timeBase, decoderConfiguration: SharedBytes(codec == .ac3 ? dac3 : record),
                bitrate: Int(values.bit_rate), frameLength: Self.frameLength(codec, values.frame_size, record))
        case .pcm, .scte35, .amf0, .text: return nil
        }
    }

    /// The codec's name for people.
    package var codecTitle: String { codec?.description ?? codecName.uppercased() }

    /// The codec, if relay's outputs support it; otherwise nil.
    package var codec: Codec? {
        let id = parameters.pointer.pointee.codec_id
        return Codec.allCases.first { $0 != .pcm && $0.libavID == id && $0.kind == kind }
    }

    /// Whether `record` is an MP4 decoder configuration for NAL units with 4-byte lengths.
    private static func isRecord(_ record: [UInt8], _ codec: Codec) -> Bool {
        switch codec {
        // AVCDecoderConfigurationRecord: version 1, and in the fifth byte the size of a length, minus one.
        case .h264: record.count > 6 && record[0] == 1 && record[4] & 3 == 3
        // HEVCDecoderConfigurationRecord: version 1, and in the 22nd byte the size of a length, minus one.
        case .hevc: record.count > 22 && record[0] == 1 && record[21] & 3 == 3
        // AV1CodecConfigurationRecord: the first byte has the marker bit and version 1.
        case .av1: record.count >= 4 && record[0] == 0x81
        default: false
        }
    }

    private static func frameLength(_ codec: Codec, _ stated: Int32, _ record: [UInt8]) -> Int {
        if stated > 0 { return Int(stated) }
        return switch codec {
        case .aac: AACHeader(configuration: record)?.frameLength ?? 1024
        case .mp3: 1152
        case .ac3: 1536
        default: 0
        }
    }
}

extension CodecParameters {
    var extraData: [UInt8]? {
        let values = pointer.pointee
        guard let bytes = values.extradata, values.extradata_size > 0 else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(values.extradata_size)))
    }
}

extension PacketBox {
    /// Returns the packet in the form for outputs, with its own times. Returns nil if it has no bytes or no time.
    /// `track` must describe the packet's stream, in the stream's time base.
    package func encodedPacket(of track: TrackDescription) -> EncodedPacket? {
        var decoding = DecodingTimes(in: track.timeBase)
        return times(in: track.timeBase, &decoding).flatMap { encodedPacket(of: track, at: $0) }
    }

    /// Returns the packet in the form for outputs, with these times. Its bytes are copied once. Returns nil if it has
    /// no bytes.
    func encodedPacket(of track: TrackDescription, at times: Times) -> EncodedPacket? {
        let values = packet.pointee
        guard let data = values.data, values.size > 0 else { return nil }
        let payload = SharedBytes(UnsafeBufferPointer(start: data, count: Int(values.size)))
        return EncodedPacket(
            of: track, pts: times.pts, dts: times.dts, duration: times.duration,
            isKeyframe: track.kind == .audio || values.flags & AV_PKT_FLAG_KEY != 0,
            isDisposable: track.codec == .h264 && AccessUnit.isDisposable(payload), payload: payload)
    }
}

extension Codec {
    /// libavcodec's ID of the codec.
    var libavID: AVCodecID {
        switch self {
        case .h264: AV_CODEC_ID_H264
        case .hevc: AV_CODEC_ID_HEVC
        case .av1: AV_CODEC_ID_AV1
        case .aac: AV_CODEC_ID_AAC
        case .opus: AV_CODEC_ID_OPUS
        case .mp3: AV_CODEC_ID_MP3
        case .ac3: AV_CODEC_ID_AC3
        case .pcm: AV_CODEC_ID_PCM_F32LE
        case .scte35: AV_CODEC_ID_SCTE_35
        // libavcodec has no ID for RTMP's data messages (AMF0), nor for relay's own text packets.
        case .amf0, .text: AV_CODEC_ID_NONE
        }
    }
}
