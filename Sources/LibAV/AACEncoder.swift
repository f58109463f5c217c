// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
public import Media

/// Owner of one AAC-LC session of libavcodec. Used by one thread at a time; frees its objects in `deinit`.
///
/// An AAC encoder needs one frame before the first to begin with (priming). Packets carry their true times: the first
/// begins ``priming`` samples before the first sample that went in, so that audio and video that entered together leave
/// together.
public final class AACEncoder {
    private let context: UnsafeMutablePointer<AVCodecContext>
    private let frame: UnsafeMutablePointer<AVFrame>
    private let packet: UnsafeMutablePointer<AVPacket>
    private var pending: AudioBuffer
    private var nextSample: Int64 = 0

    /// Rate and channels of what goes in and of what comes out.
    public let format: AudioFormat
    /// Bits a second.
    public let bitrate: Int
    /// Samples in a packet.
    public let frameLength: Int
    /// Samples that the encoder puts before the first.
    public let priming: Int
    /// What the packets refer to.
    public let description: TrackDescription

    /// Opens a session, or says why libavcodec would not.
    public init(format: AudioFormat, bitrate: Int) throws(AVFailure) {
        _ = Library.prepared
        let subject = "AAC at \(bitrate / 1000) kbit/s, \(format.sampleRate) Hz, \(format.channels) channels"
        guard let codec = avcodec_find_encoder(AV_CODEC_ID_AAC), let context = avcodec_alloc_context3(codec) else {
            throw AVFailure(operation: "find an encoder for", subject: subject, code: relay_averror(ENOSYS))
        }
        context.pointee.sample_fmt = AV_SAMPLE_FMT_FLTP
        context.pointee.sample_rate = format.sampleRate
        context.pointee.bit_rate = Int64(bitrate)
        context.pointee.time_base = AVRational(num: 1, den: format.sampleRate)
        context.pointee.profile = relay_profile_aac_low
        context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
        relay_codec_context_set_channels(context, Int32(format.channels))
        var owned: UnsafeMutablePointer<AVCodecContext>? = context
        let opened = avcodec_open2(context, codec, nil)
        guard opened >= 0, let frame = av_frame_alloc() else {
            avcodec_free_context(&owned)
            throw AVFailure(
                operation: "open an encoder for", subject: subject, code: min(opened, relay_averror(ENOMEM)))
        }
        frame.pointee.nb_samples = context.pointee.frame_size
        frame.pointee.format = AV_SAMPLE_FMT_FLTP.rawValue
        frame.pointee.sample_rate = format.sampleRate
        relay_frame_set_channels(frame, Int32(format.channels))
        guard av_frame_get_buffer(frame, 0) >= 0, let packet = av_packet_alloc() else {
            var ownedFrame: UnsafeMutablePointer<AVFrame>? = frame
            av_frame_free(&ownedFrame)
            avcodec_free_context(&owned)
            throw AVFailure(operation: "open an encoder for", subject: subject, code: relay_averror(ENOMEM))
        }
        self.context = context
        self.frame = frame
        self.packet = packet
        self.format = format
        self.bitrate = bitrate
        frameLength = Int(context.pointee.frame_size)
        priming = Int(context.pointee.initial_padding)
        description = TrackDescription(
            format: format,
            decoderConfiguration: SharedBytes(
                UnsafeBufferPointer(start: context.pointee.extradata, count: Int(context.pointee.extradata_size))),
            bitrate: bitrate, frameLength: frameLength)
        pending = .silence(at: 0, count: 0, format: format)
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
        var frame: UnsafeMutablePointer<AVFrame>? = frame
        av_frame_free(&frame)
        var context: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&context)
    }

    /// Says which sample of the program is the first that goes in: it is 0 otherwise. Before any went in.
    public func begin(at sample: Int64) { nextSample = sample }

    /// Takes the audio that follows what was taken before, whatever its position says, and returns the packets that
    /// came out.
    public func encode(_ audio: AudioBuffer) throws(AVFailure) -> [EncodedPacket] {
        pending.append(audio)
        var packets: [EncodedPacket] = []
        var start: Int64 = 0
        while Int64(pending.count) - start >= Int64(frameLength) {
            try send(pending, from: Int(start), count: frameLength)
            start += Int64(frameLength)
            packets += try receive()
        }
        pending = pending.slice(start..<Int64(pending.count))
        pending.position = 0
        return packets
    }

    /// Encodes what is left and returns the last packets. The session is over.
    public func finish() throws(AVFailure) -> [EncodedPacket] {
        if pending.count > 0 { try send(pending, from: 0, count: pending.count) }
        try check(avcodec_send_frame(context, nil))
        return try receive()
    }

    private func send(_ audio: AudioBuffer, from start: Int, count: Int) throws(AVFailure) {
        try check(av_frame_make_writable(frame))
        frame.pointee.nb_samples = Int32(count)
        frame.pointee.pts = nextSample
        nextSample += Int64(count)
        for (index, channel) in audio.channels.enumerated() {
            guard let plane = frame.pointee.extended_data[index] else { continue }
            plane.withMemoryRebound(to: Float.self, capacity: count) { samples in
                channel.withUnsafeBufferPointer { source in
                    guard let base = source.baseAddress else { return }
                    samples.update(from: base + start, count: count)
                }
            }
        }
        try check(avcodec_send_frame(context, frame))
    }

    private func receive() throws(AVFailure) -> [EncodedPacket] {
        var packets: [EncodedPacket] = []
        while true {
            let result = avcodec_receive_packet(context, packet)
            if result == relay_averror(EAGAIN) || result == relay_averror_eof { return packets }
            try check(result)
            let bytes = UnsafeBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size))
            packets.append(
                EncodedPacket(
                    of: description, pts: packet.pointee.pts, dts: packet.pointee.pts, duration: Int64(frameLength),
                    isKeyframe: true, payload: SharedBytes(bytes)))
            av_packet_unref(packet)
        }
    }

    private func check(_ result: Int32) throws(AVFailure) {
        guard result < 0 else { return }
        throw AVFailure(operation: "encode", subject: "AAC", code: result)
    }
}
