// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
public import Media

/// Writes coded packets of one video and one audio track into a container, and hands out the container's bytes; the owner
/// of an `AVFormatContext`.
///
/// Used by one thread at a time; the container's bytes come back on the thread of the call. What libavformat refuses is
/// thrown as ``AVFailure``, whose subject is the container's name; what was written before stands.
public final class Muxer {
    /// How a container is written.
    public struct Options {
        /// libavformat's name of the container, such as `mpegts`.
        public var format: String
        /// Options of that container, by libavformat's names.
        public var values: [String: String]
        /// Tags of the whole container, such as `service_name`.
        public var metadata: [String: String]
        /// libavformat's `max_delay`; for MPEG-TS half the distance from a PCR to the DTS beside it.
        public var maximumDelay: Duration
        /// The most bytes that the receiver of the bytes gets in one call.
        public var bufferBytes: Int

        /// Options for the container `format`.
        public init(
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

    /// What libavformat's callback reaches through its opaque pointer.
    private final class Sink {
        let write: (UnsafeRawBufferPointer) -> Void
        init(_ write: @escaping (UnsafeRawBufferPointer) -> Void) { self.write = write }
    }

    private let context: UnsafeMutablePointer<AVFormatContext>
    private let packet: UnsafeMutablePointer<AVPacket>
    private let sink: Sink
    private let format: String
    private var isFinished = false

    /// Begins a container with both tracks of `description`. `write` gets the container's bytes as they come.
    public init(
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
        try addVideo(description.video)
        try addAudio(description.audio)
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

    /// The clock in which `track` is written; libavformat chooses it when the container begins.
    public func timeBase(of track: TrackKind) -> TimeBase {
        guard let stream = stream(track) else { return .mpegTS }
        return TimeBase(stream.pointee.time_base.num, stream.pointee.time_base.den)
    }

    /// Writes one packet, `shift` ticks of ``timeBase(of:)`` later than it says. Packets of both tracks must come in
    /// decoding order.
    public func write(_ packet: EncodedPacket, shift: Int64 = 0) throws(AVFailure) {
        let target = timeBase(of: packet.track)
        let raw = self.packet
        var status = av_new_packet(raw, Int32(clamping: packet.payload.count))
        try AVFailure.check(status, "allocate a packet for", format)
        packet.payload.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: raw.pointee.data, count: bytes.count).copyMemory(from: bytes)
        }
        raw.pointee.stream_index = Self.index(packet.track)
        raw.pointee.pts = packet.timeBase.rescale(packet.pts, to: target) + shift
        raw.pointee.dts = packet.timeBase.rescale(packet.dts, to: target) + shift
        raw.pointee.duration = packet.timeBase.rescale(packet.duration, to: target)
        raw.pointee.flags = packet.isKeyframe ? AV_PKT_FLAG_KEY : 0
        status = av_write_frame(context, raw)
        av_packet_unref(raw)
        try AVFailure.check(status, "write", format)
    }

    /// Ends a fragment of a fragmented MP4 (`frag_custom`) and hands it out.
    public func flushFragment() throws(AVFailure) {
        let status = av_write_frame(context, nil)
        avio_flush(context.pointee.pb)
        try AVFailure.check(status, "write", format)
    }

    /// Hands out what libavformat still gathers in its buffer.
    public func flush() { avio_flush(context.pointee.pb) }

    /// Ends the container; nothing can be written afterwards.
    public func finish() throws(AVFailure) {
        guard !isFinished else { return }
        isFinished = true
        let status = av_write_trailer(context)
        avio_flush(context.pointee.pb)
        try AVFailure.check(status, "write the end of", format)
    }
}

extension Muxer {
    private static func index(_ track: TrackKind) -> Int32 { track == .video ? 0 : 1 }

    private func stream(_ track: TrackKind) -> UnsafeMutablePointer<AVStream>? {
        context.pointee.streams[Int(Self.index(track))]
    }

    private func openOutput(bufferBytes: Int) throws(AVFailure) {
        let opaque = Unmanaged.passUnretained(sink).toOpaque()  // the muxer outlives its AVIO context
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
        context.pointee.flush_packets = 0  // we say when: at the end of a frame
    }

    private func addStream() throws(AVFailure) -> UnsafeMutablePointer<AVStream> {
        try AVFailure.unwrap(avformat_new_stream(context, nil), "allocate a stream of", format)
    }

    private func addVideo(_ video: StreamDescription.Video) throws(AVFailure) {
        let stream = try addStream()
        let shape = video.format
        let aspect = AVRational(
            num: shape.sampleAspectRatio.horizontal, den: shape.sampleAspectRatio.vertical)
        stream.pointee.time_base = AVRational(num: shape.frameRate.denominator, den: shape.frameRate.numerator)
        stream.pointee.avg_frame_rate = AVRational(num: shape.frameRate.numerator, den: shape.frameRate.denominator)
        stream.pointee.sample_aspect_ratio = aspect
        guard let parameters = stream.pointee.codecpar else { return }
        parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
        parameters.pointee.codec_id = AV_CODEC_ID_H264
        parameters.pointee.width = Int32(shape.width)
        parameters.pointee.height = Int32(shape.height)
        parameters.pointee.sample_aspect_ratio = aspect
        parameters.pointee.bit_rate = Int64(video.bitrate)
        parameters.pointee.video_delay = Int32(clamping: video.reorderDepth)
        try setExtradata(parameters, video.decoderConfiguration)
    }

    private func addAudio(_ audio: StreamDescription.Audio) throws(AVFailure) {
        let stream = try addStream()
        stream.pointee.time_base = AVRational(num: 1, den: audio.format.sampleRate)
        guard let parameters = stream.pointee.codecpar else { return }
        parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
        parameters.pointee.codec_id = AV_CODEC_ID_AAC
        parameters.pointee.sample_rate = audio.format.sampleRate
        parameters.pointee.bit_rate = Int64(audio.bitrate)
        parameters.pointee.frame_size = Int32(audio.frameLength)
        relay_parameters_set_channels(parameters, Int32(audio.format.channels))
        try setExtradata(parameters, audio.decoderConfiguration)
    }

    private func setExtradata(
        _ parameters: UnsafeMutablePointer<AVCodecParameters>, _ bytes: SharedBytes
    ) throws(AVFailure) {
        let memory = try AVFailure.unwrap(
            av_mallocz(bytes.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)), "allocate a header of", format)
        bytes.withUnsafeBytes { source in
            UnsafeMutableRawBufferPointer(start: memory, count: source.count).copyMemory(from: source)
        }
        parameters.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
        parameters.pointee.extradata_size = Int32(bytes.count)
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
