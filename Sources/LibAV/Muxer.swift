// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// Writes the coded packets of a video track, an audio track or both into a container, and passes on the container's
/// bytes. It owns an `AVFormatContext`.
///
/// Only one thread may use it at a time. The container's bytes are passed on during a call, on the caller's thread. If
/// libavformat refuses a packet, the call throws an ``AVFailure`` with the container's name; the bytes that were passed
/// on before stay valid.
package final class Muxer {
    /// Options of a container.
    package struct Options {
        /// libavformat's name of the container, such as `mpegts`.
        package var format: String
        /// The container's options, with libavformat's names.
        package var values: [String: String]
        /// Metadata of the whole container, such as `service_name`.
        package var metadata: [String: String]
        /// libavformat's `max_delay`. In MPEG-TS, the DTS of a packet is later than the PCR beside it by twice this
        /// time.
        package var maximumDelay: Duration
        /// The maximum number of bytes that are passed on at once.
        package var bufferBytes: Int

        /// Options for the container `format`.
        package init(
            format: String, values: [String: String] = [:], metadata: [String: String] = [:],
            maximumDelay: Duration = .zero, bufferBytes: Int = 64 << 10
        ) {
            self.format = format
            self.values = values
            self.metadata = metadata
            self.maximumDelay = maximumDelay
            self.bufferBytes = bufferBytes
        }
    }

    /// The object to which the opaque pointer of libavformat's callback points.
    private final class Sink {
        let write: (UnsafeRawBufferPointer) -> Void
        init(_ write: @escaping (UnsafeRawBufferPointer) -> Void) { self.write = write }
    }

    /// The codec tag "hvc1" as libavformat expects it: with the least significant byte first.
    private static let hvc1: UInt32 = 0x3163_7668

    private let context: UnsafeMutablePointer<AVFormatContext>
    private let packet: UnsafeMutablePointer<AVPacket>
    private let sink: Sink
    private let format: String
    /// The stream indices; nil for a track that the container does not have.
    private var (videoIndex, audioIndex): (Int32?, Int32?)
    private var isFinished = false

    /// Starts a container with the video and audio tracks of `description`. `write` receives the container's bytes.
    package init(
        _ options: Options, description: StreamDescription, write: @escaping (UnsafeRawBufferPointer) -> Void
    ) throws(AVFailure) {
        _ = Library.prepared
        var context: UnsafeMutablePointer<AVFormatContext>?
        let status = avformat_alloc_output_context2(&context, nil, options.format, nil)
        guard let context else {
            throw AVFailure(operation: "begin a container of", subject: options.format, code: status)
        }
        guard let packet = av_packet_alloc() else {
            avformat_free_context(context)
            throw AVFailure(operation: "allocate a packet for", subject: options.format, code: relay_averror(ENOMEM))
        }
        self.context = context
        self.packet = packet
        format = options.format
        sink = Sink(write)
        try openOutput(bufferBytes: options.bufferBytes)
        if let video = description.video { videoIndex = try addVideo(video) }
        if let audio = description.audio { audioIndex = try addAudio(audio) }
        try begin(options)
    }

    deinit {
        if let output = context.pointee.pb {
            av_freep(&output.pointee.buffer)
            avio_context_free(&context.pointee.pb)
        }
        var owned: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&owned)
        avformat_free_context(context)
    }

    /// The time base of `track`. libavformat chooses it when the container starts.
    package func timeBase(of track: TrackKind) -> TimeBase {
        guard let stream = stream(track) else { return .mpegTS }
        return TimeBase(stream.pointee.time_base.num, stream.pointee.time_base.den)
    }

    /// Writes one packet, with its times moved by `shift` ticks of ``timeBase(of:)``. Packets of both tracks must come
    /// in decoding order. A packet of a track that the container does not have is ignored.
    package func write(_ packet: EncodedPacket, shift: Int64 = 0) throws(AVFailure) {
        guard let index = index(packet.track) else { return }
        let target = timeBase(of: packet.track)
        let raw = self.packet
        var payload = packet.payload
        // libavformat inserts parameter sets only directly before the slices, so they would come after the SEI that may
        // need them.
        if packet.isKeyframe, packet.description.codec == .h264, format == "mpegts" {
            payload = ConfigurationRecord.completed(payload, by: packet.description.decoderConfiguration)
        }
        var status = av_new_packet(raw, Int32(clamping: payload.count))
        try AVFailure.check(status, "allocate a packet for", format)
        payload.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: raw.pointee.data, count: bytes.count).copyMemory(from: bytes)
        }
        raw.pointee.stream_index = index
        raw.pointee.pts = packet.timeBase.rescale(packet.pts, to: target) + shift
        raw.pointee.dts = packet.timeBase.rescale(packet.dts, to: target) + shift
        raw.pointee.duration = packet.timeBase.rescale(packet.duration, to: target)
        raw.pointee.flags = packet.isKeyframe ? AV_PKT_FLAG_KEY : 0
        status = av_write_frame(context, raw)
        av_packet_unref(raw)
        try AVFailure.check(status, "write", format)
    }

    /// Ends a fragment of a fragmented MP4 (with `frag_custom`), or the PES packet in which libavformat collects audio
    /// for MPEG-TS, and passes its bytes on.
    package func flushFragment() throws(AVFailure) {
        let status = av_write_frame(context, nil)
        avio_flush(context.pointee.pb)
        try AVFailure.check(status, "write", format)
    }

    /// Passes on all bytes that libavformat has buffered.
    package func flush() { avio_flush(context.pointee.pb) }

    /// Ends the container; no packet can be written afterwards.
    package func finish() throws(AVFailure) {
        guard !isFinished else { return }
        isFinished = true
        let status = av_write_trailer(context)
        avio_flush(context.pointee.pb)
        try AVFailure.check(status, "write the end of", format)
    }
}

extension Muxer {
    private func index(_ track: TrackKind) -> Int32? {
        switch track {
        case .video: videoIndex
        case .audio: audioIndex
        case .data: nil
        }
    }

    private func stream(_ track: TrackKind) -> UnsafeMutablePointer<AVStream>? {
        index(track).flatMap { context.pointee.streams[Int($0)] }
    }

    private func openOutput(bufferBytes: Int) throws(AVFailure) {
        let opaque = Unmanaged.passUnretained(sink).toOpaque()  // the muxer owns both, so the sink lives long enough
        let output = relay_avio_writer(
            av_malloc(bufferBytes)?.assumingMemoryBound(to: UInt8.self), Int32(bufferBytes), opaque,
            { opaque, bytes, count in
                guard let opaque else { return relay_averror(EINVAL) }
                Unmanaged<Sink>.fromOpaque(opaque).takeUnretainedValue()
                    .write(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
                return count
            })
        guard let output else {
            throw AVFailure(operation: "allocate a buffer for", subject: format, code: relay_averror(ENOMEM))
        }
        context.pointee.pb = output
        context.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
        context.pointee.flush_packets = 0  // the caller flushes, at the end of each frame
    }

    private func addStream(_ track: TrackDescription) throws(AVFailure) -> UnsafeMutablePointer<AVStream> {
        let stream = try AVFailure.unwrap(avformat_new_stream(context, nil), "allocate a stream of", format)
        stream.pointee.time_base = AVRational(num: track.timeBase.numerator, den: track.timeBase.denominator)
        guard let parameters = stream.pointee.codecpar else { return stream }
        parameters.pointee.codec_type = track.kind == .video ? AVMEDIA_TYPE_VIDEO : AVMEDIA_TYPE_AUDIO
        parameters.pointee.codec_id = track.codec.libavID
        parameters.pointee.bit_rate = Int64(track.bitrate)
        // The AC-3 configuration of a track has the form that MP4 needs. libavcodec has no field for it.
        if track.codec != .ac3 { try parameters.setExtradata(track.decoderConfiguration, subject: format) }
        return stream
    }

    private func addVideo(_ video: TrackDescription) throws(AVFailure) -> Int32 {
        let stream = try addStream(video)
        guard let frames = video.frameFormat, let parameters = stream.pointee.codecpar else {
            return stream.pointee.index
        }
        let aspect = AVRational(num: frames.sampleAspectRatio.horizontal, den: frames.sampleAspectRatio.vertical)
        if let rate = video.nominalRate {
            stream.pointee.avg_frame_rate = AVRational(num: rate.numerator, den: rate.denominator)
        }
        stream.pointee.sample_aspect_ratio = aspect
        parameters.pointee.width = Int32(frames.width)
        parameters.pointee.height = Int32(frames.height)
        parameters.pointee.sample_aspect_ratio = aspect
        // The tag `hvc1` says that parameter sets are only in the header. Apple's players require it.
        if video.codec == .hevc, format == "mp4" { parameters.pointee.codec_tag = Self.hvc1 }
        parameters.pointee.video_delay = Int32(clamping: video.reorderDepth)
        return stream.pointee.index
    }

    private func addAudio(_ audio: TrackDescription) throws(AVFailure) -> Int32 {
        let stream = try addStream(audio)
        guard let format = audio.audioFormat, let parameters = stream.pointee.codecpar else {
            return stream.pointee.index
        }
        parameters.pointee.sample_rate = format.sampleRate
        parameters.pointee.frame_size = Int32(audio.frameLength)
        relay_parameters_set_channels(parameters, Int32(format.channels))
        return stream.pointee.index
    }

    private func begin(_ options: Options) throws(AVFailure) {
        context.pointee.max_delay = Int32(clamping: options.maximumDelay.inNanoseconds / 1000)
        for (name, value) in options.metadata { av_dict_set(&context.pointee.metadata, name, value, 0) }
        var dictionary: OpaquePointer?
        defer { av_dict_free(&dictionary) }
        for (name, value) in options.values { av_dict_set(&dictionary, name, value, 0) }
        try AVFailure.check(avformat_write_header(context, &dictionary), "write the header of", format)
    }
}
