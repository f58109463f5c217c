// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

// This file prepares decoders for packets that do not come from a libav demuxer.

extension StreamInfo {
    /// Creates the stream information for the packets of `track`, which must be video or audio. `orientation` says how
    /// frames must be rotated or mirrored; by default they are used as they are coded.
    package init(
        _ track: TrackDescription, orientation: Orientation = .upright, subject: String
    ) throws(AVFailure) {
        var owned = avcodec_parameters_alloc()
        defer { avcodec_parameters_free(&owned) }
        let values = try AVFailure.unwrap(owned, "describe", subject)
        values.pointee.codec_type = track.kind == .video ? AVMEDIA_TYPE_VIDEO : AVMEDIA_TYPE_AUDIO
        values.pointee.codec_id = track.codec.libavID
        // The AC-3 configuration of a track is only for MP4. An AC-3 decoder needs no configuration.
        if track.codec != .ac3 { try values.setExtradata(track.decoderConfiguration, subject: subject) }
        var video: Video?
        if let frames = track.frameFormat {
            values.pointee.width = Int32(clamping: frames.width)
            values.pointee.height = Int32(clamping: frames.height)
            values.pointee.video_delay = Int32(clamping: track.reorderDepth)
            video = Video(frames, track, orientation)
        }
        if let format = track.audioFormat {
            values.pointee.sample_rate = format.sampleRate
            values.pointee.frame_size = Int32(clamping: track.frameLength)
            relay_parameters_set_channels(values, Int32(clamping: format.channels))
        }
        self.init(
            index: track.kind == .video ? 0 : 1, kind: track.kind, timeBase: track.timeBase, stampBits: 64,
            codecName: track.codec.description, video: video, sampleRate: Int(track.audioFormat?.sampleRate ?? 0),
            parameters: try CodecParameters(copying: values, subject: subject))
    }
}

extension UnsafeMutablePointer<AVCodecParameters> {
    /// Copies a decoder configuration into the parameters; does nothing if it is empty.
    func setExtradata(_ configuration: SharedBytes, subject: String) throws(AVFailure) {
        guard configuration.count > 0 else { return }
        let memory = try AVFailure.unwrap(
            av_mallocz(configuration.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)), "describe", subject)
        configuration.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: memory, count: bytes.count).copyMemory(from: bytes)
        }
        pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
        pointee.extradata_size = Int32(clamping: configuration.count)
    }
}

extension PacketBox {
    /// Creates a copy of `source` for a decoder, with the times `pts` and `dts`, in ticks of the packet's time base.
    package convenience init(_ source: EncodedPacket, pts: Int64, dts: Int64, subject: String) throws(AVFailure) {
        try self.init(subject: subject)
        let count = source.payload.count
        try AVFailure.check(av_new_packet(packet, Int32(clamping: count)), "copy a packet of", subject)
        source.payload.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: packet.pointee.data, count: count).copyMemory(from: bytes)
        }
        packet.pointee.stream_index = source.track == .video ? 0 : 1
        packet.pointee.pts = pts
        packet.pointee.dts = dts
        packet.pointee.duration = source.duration
        packet.pointee.flags = source.isKeyframe ? AV_PKT_FLAG_KEY : 0
    }
}
