// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// Decodes the packets of one stream; owns an `AVCodecContext`. Only one thread may use it at a time.
package final class Decoder {
    /// How the decoder uses threads.
    package enum Threading: Sendable {
        /// Decodes two frames at a time. This is faster, but delays output by one frame.
        case frames
        /// Decodes two slices of one frame at a time, if the coding allows it. This adds no delay.
        case slices
    }

    /// The result of ``receive()``.
    package enum Output {
        /// A frame.
        case frame(DecodedFrame)
        /// No frame is ready until the next packet is sent.
        case needsPacket
        /// The input has ended, and no more frames follow.
        case ended
    }

    /// Limit for the magnitude of an audio sample: 36 dB above full scale. Even after a gain of 20 dB, the mixing of
    /// many sources, the filters and the squaring of a sum, values then stay far below the maximum of a `Float` and of
    /// the AAC encoder.
    static let loudestSample: Float = 64

    private let context: UnsafeMutablePointer<AVCodecContext>
    /// The codec and the input, for error messages.
    package let subject: String
    /// Number of audio samples so far that were infinite, not a number or beyond ``loudestSample``, and were replaced.
    package private(set) var repairedSamples: Int64 = 0

    /// Creates a decoder for `stream`. It uses at most two threads, so that it does not compete with the encoder. It
    /// refuses frames of more than `mostPixels` pixels, see ``LargestFrame``; nil means libav's own limit.
    package convenience init(
        _ stream: StreamInfo, threading: Threading, mostPixels: Int64? = nil, subject: String
    ) throws(AVFailure) {
        try self.init(stream, threading: threading, mostPixels: mostPixels, subject: subject, preferring: nil)
    }

    /// Creates a decoder that uses libavcodec's decoder `name`, if it is available, and otherwise the default decoder.
    init(
        _ stream: StreamInfo, threading: Threading, mostPixels: Int64? = nil, subject: String, preferring name: String?
    ) throws(AVFailure) {
        _ = Library.prepared
        self.subject = "\(stream.codecName) of \(subject)"
        let parameters = stream.parameters.pointer
        let preferred = name.flatMap { avcodec_find_decoder_by_name($0) }
        guard let codec = preferred ?? avcodec_find_decoder(parameters.pointee.codec_id) else {
            throw AVFailure(
                operation: "find a decoder for", subject: self.subject, code: relay_averror_decoder_not_found)
        }
        context = try AVFailure.unwrap(avcodec_alloc_context3(codec), "allocate a decoder for", self.subject)
        // From here on every property is set. So if the initializer throws, `deinit` frees the context.
        try AVFailure.check(avcodec_parameters_to_context(context, parameters), "set up", self.subject)
        // The decoder needs the packets' time base to correct the pts of audio when it removes priming.
        context.pointee.pkt_timebase = AVRational(num: stream.timeBase.numerator, den: stream.timeBase.denominator)
        context.pointee.thread_count = stream.kind == .video ? 2 : 1
        context.pointee.thread_type = threading == .frames ? FF_THREAD_FRAME : FF_THREAD_SLICE
        if let mostPixels {
            let (width, height) = (Int(context.pointee.width), Int(context.pointee.height))
            try AVFailure.check(width: width, height: height, limit: mostPixels, "decode", self.subject)
            context.pointee.max_pixels = mostPixels
        }
        try AVFailure.check(avcodec_open2(context, codec, nil), "open a decoder for", self.subject)
    }

    /// Creates a decoder for packets of `track`. It refuses frames larger than ``LargestFrame``. All times are in the
    /// track's time base.
    package convenience init(_ track: TrackDescription, subject: String) throws(AVFailure) {
        try self.init(
            try StreamInfo(track, subject: subject), threading: .slices, mostPixels: LargestFrame.pixels,
            subject: subject)
    }

    deinit {
        var owned: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&owned)
    }

    /// Sends a packet; nil ends the input. Call this method only when ``receive()`` has returned
    /// ``Output/needsPacket``. If this method throws, the packet is lost, but the next packet may be good.
    package func send(_ packet: PacketBox?) throws(AVFailure) {
        try check(avcodec_send_packet(context, packet?.packet))
    }

    private func check(_ code: Int32) throws(AVFailure) {
        do throws(AVFailure) {
            try AVFailure.check(code, "decode", subject)
        } catch {
            throw context.explained(error)
        }
    }

    /// Like ``send(_:)``, for a packet in relay's own form.
    package func send(coded packet: EncodedPacket) throws(AVFailure) {
        try send(try PacketBox(packet, pts: packet.pts, dts: packet.dts, subject: subject))
    }

    private func repairSamples(of frame: DecodedFrame) throws(AVFailure) {
        let changed = try AVFailure.check(
            relay_frame_repair_samples(frame.frame, Self.loudestSample), "decode", subject)
        guard changed > 0 else { return }
        repairedSamples += Int64(changed)
        frame.frame.pointee.flags |= AV_FRAME_FLAG_CORRUPT
    }

    /// Returns the next frame. If this method throws, a frame is lost, but the next frame may be good. Audio samples
    /// that are not finite are replaced by silence, and samples beyond ``loudestSample`` by this limit, because both
    /// would break encoders and filters. A frame with replaced samples counts as damaged.
    package func receive() throws(AVFailure) -> Output {
        let frame = try DecodedFrame(subject: subject)
        let code = avcodec_receive_frame(context, frame.frame)
        if code == relay_averror(EAGAIN) { return .needsPacket }
        if code == relay_averror_eof { return .ended }
        try check(code)
        if context.pointee.codec_type == AVMEDIA_TYPE_AUDIO { try repairSamples(of: frame) }
        return .frame(frame)
    }

    /// The frame rate that the coded stream states; nil if it states none, and before the first frame.
    package var statedRate: FrameRate? { context.pointee.framerate.asFrameRate }

    /// The number of frames that the decoder holds for reordering, as far as it knows.
    package var reorderedFrames: Int { Int(max(0, context.pointee.has_b_frames)) }

    /// Discards everything that was sent so far. Call it after a seek, and to send packets again after the end of the
    /// input.
    package func flush() { avcodec_flush_buffers(context) }
}
