// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// Decodes the packets of one stream; owns an `AVCodecContext`. One thread at a time.
package final class Decoder {
    /// How the decoder uses threads.
    package enum Threading: Sendable {
        /// Two frames at a time: faster, one frame of delay.
        case frames
        /// Two slices of one frame at a time, if the coding allows it: no delay.
        case slices
    }

    /// What ``receive()`` found.
    package enum Output {
        /// A frame.
        case frame(DecodedFrame)
        /// No frame until the next packet is sent.
        case needsPacket
        /// No more frames: the decoder is drained.
        case ended
    }

    /// Limit for a sample's magnitude: 36 dB above full scale. Even after a gain of 20 dB, a mix of many sources, the
    /// filters and the squaring of a sum, values stay far below the maximum of a `Float` and of the AAC encoder.
    static let loudestSample: Float = 64

    private let context: UnsafeMutablePointer<AVCodecContext>
    /// Codec and input, for errors.
    package let subject: String
    /// Number of samples in all frames so far that were infinite, not a number or beyond ``loudestSample``.
    package private(set) var repairedSamples: Int64 = 0

    /// A decoder for `stream`. At most two threads, so that it does not compete with the encoder. It refuses frames of
    /// more than `mostPixels` pixels, see ``LargestFrame``; nil means libav's own limit.
    package convenience init(
        _ stream: StreamInfo, threading: Threading, mostPixels: Int64? = nil, subject: String
    ) throws(AVFailure) {
        try self.init(stream, threading: threading, mostPixels: mostPixels, subject: subject, preferring: nil)
    }

    /// Uses the decoder that libavcodec calls `name`, if it is available.
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
        // From here on every property is set: if the initializer throws, `deinit` frees the context.
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

    /// A decoder for packets of `track`, whose frames are at most ``LargestFrame``; their times are in the track's time
    /// base.
    package convenience init(_ track: TrackDescription, subject: String) throws(AVFailure) {
        try self.init(
            try StreamInfo(track, subject: subject), threading: .slices, mostPixels: LargestFrame.pixels,
            subject: subject)
    }

    deinit {
        var owned: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&owned)
    }

    /// Sends a packet, or nil to end the input. Call it only when ``receive()`` asked for a packet. If it throws, this
    /// packet is lost; the next one may be good.
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

    /// Like ``send(_:)``, for a packet that was already read.
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

    /// Returns the next frame. If it throws, a frame is lost; the next one may be good. All audio samples are finite
    /// and at most ``loudestSample``. Samples that are not finite are replaced by silence, and louder ones by the
    /// limit, because they would break encoders and filters; their frame counts as damaged.
    package func receive() throws(AVFailure) -> Output {
        let frame = try DecodedFrame(subject: subject)
        let code = avcodec_receive_frame(context, frame.frame)
        if code == relay_averror(EAGAIN) { return .needsPacket }
        if code == relay_averror_eof { return .ended }
        try check(code)
        if context.pointee.codec_type == AVMEDIA_TYPE_AUDIO { try repairSamples(of: frame) }
        return .frame(frame)
    }

    /// The frame rate in the coded stream; nil if it has none, or before the first frame.
    package var statedRate: FrameRate? { context.pointee.framerate.asFrameRate }

    /// The number of frames that the decoder reorders, as far as it knows.
    package var reorderedFrames: Int { Int(max(0, context.pointee.has_b_frames)) }

    /// Discards all packets sent so far. Call it before packets of another position, and to continue after the end of
    /// the input.
    package func flush() { avcodec_flush_buffers(context) }
}
