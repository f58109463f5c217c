// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
internal import Media

/// Owns one AAC-LC session of libavcodec. Only one thread may use it at a time. `deinit` frees libavcodec's objects.
final class AACSession {
    private let context: UnsafeMutablePointer<AVCodecContext>
    private let frame: UnsafeMutablePointer<AVFrame>
    private let packet: UnsafeMutablePointer<AVPacket>

    /// Samples per packet.
    var frameLength: Int { Int(context.pointee.frame_size) }
    /// Number of samples that the encoder emits before the first input sample.
    var priming: Int { Int(context.pointee.initial_padding) }
    /// The decoder configuration, an AudioSpecificConfig (ISO/IEC 14496-3, 1.6.2.1).
    var configuration: SharedBytes {
        SharedBytes(UnsafeBufferPointer(start: context.pointee.extradata, count: Int(context.pointee.extradata_size)))
    }

    /// Opens a session; throws if libavcodec cannot encode audio of `format` at `bitrate`.
    init(format: AudioFormat, bitrate: Int) throws(AVFailure) {
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
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
        var frame: UnsafeMutablePointer<AVFrame>? = frame
        av_frame_free(&frame)
        var context: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&context)
    }

    /// Sends the samples of `audio` in `range` to the encoder, at most ``frameLength``. The first of them is sample
    /// number `sample` of the program.
    func send(_ audio: AudioBuffer, _ range: Range<Int>, at sample: Int64) throws(AVFailure) {
        try check(av_frame_make_writable(frame))
        frame.pointee.nb_samples = Int32(range.count)
        frame.pointee.pts = sample
        for (index, channel) in audio.channels.enumerated() {
            guard let plane = frame.pointee.extended_data[index] else { continue }
            plane.withMemoryRebound(to: Float.self, capacity: range.count) { samples in
                channel.withUnsafeBufferPointer { source in
                    guard let base = source.baseAddress else { return }
                    samples.update(from: base + range.lowerBound, count: range.count)
                }
            }
        }
        try check(avcodec_send_frame(context, frame))
    }

    /// Tells the encoder that no audio follows.
    func end() throws(AVFailure) { try check(avcodec_send_frame(context, nil)) }

    /// Returns the next packet: its time in samples, and its bytes. Returns nil if no packet is ready.
    func receive() throws(AVFailure) -> (pts: Int64, payload: SharedBytes)? {
        let result = avcodec_receive_packet(context, packet)
        if result == relay_averror(EAGAIN) || result == relay_averror_eof { return nil }
        try check(result)
        defer { av_packet_unref(packet) }
        let bytes = UnsafeBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size))
        return (packet.pointee.pts, SharedBytes(bytes))
    }

    private func check(_ result: Int32) throws(AVFailure) {
        guard result < 0 else { return }
        throw AVFailure(operation: "encode", subject: "AAC", code: result)
    }
}
