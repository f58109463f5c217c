// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// Decodes the packets of one stream; the owner of an `AVCodecContext`. Used by one thread at a time.
package final class Decoder {
    /// How a frame's decoding may be spread over threads.
    package enum Threading: Sendable {
        /// Two frames at a time: more speed, one frame of delay.
        case frames
        /// Two parts of one frame at a time, where the coding allows it: no delay.
        case slices
    }

    /// What ``receive()`` found.
    package enum Output {
        /// A frame.
        case frame(DecodedFrame)
        /// Nothing until the next packet is sent.
        case needsPacket
        /// Nothing any more: the decoder was drained.
        case ended
    }

    /// The loudest sample that is believed: 36 dB above full scale. A gain of 20 dB, a mix of many sources, the filters and
    /// the square of a sum stay far below what a `Float` holds and the AAC encoder accepts.
    static let loudestSample: Float = 64

    private let context: UnsafeMutablePointer<AVCodecContext>
    /// How errors name the coding and the input.
    package let subject: String
    /// Samples that were infinite, not a number or beyond ``loudestSample``, of all frames so far.
    package private(set) var repairedSamples: Int64 = 0

    /// A decoder for `stream`. Two threads at most, so as not to compete with the encoder.
    package convenience init(_ stream: StreamInfo, threading: Threading, subject: String) throws(AVFailure) {
        try self.init(stream, threading: threading, subject: subject, preferring: nil)
    }

    /// The same by the decoder that libavcodec calls `name`, if it is there.
    init(
        _ stream: StreamInfo, threading: Threading, subject: String, preferring name: String?
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
        // From here on every property is set: whatever is thrown, `deinit` frees the context.
        try AVFailure.check(avcodec_parameters_to_context(context, parameters), "set up", self.subject)
        // Without the packets' time base the decoder cannot move the pts of audio whose priming it cuts off.
        context.pointee.pkt_timebase = AVRational(num: stream.timeBase.numerator, den: stream.timeBase.denominator)
        context.pointee.thread_count = stream.kind == .video ? 2 : 1
        context.pointee.thread_type = threading == .frames ? FF_THREAD_FRAME : FF_THREAD_SLICE
        try AVFailure.check(avcodec_open2(context, codec, nil), "open a decoder for", self.subject)
    }

    /// A decoder for packets that refer to `track`, in whose time base its frames' times are.
    package convenience init(_ track: TrackDescription, subject: String) throws(AVFailure) {
        try self.init(try StreamInfo(track, subject: subject), threading: .slices, subject: subject)
    }

    deinit {
        var owned: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&owned)
    }

    /// Gives the decoder a packet, or nil to say that none follows. Call it only when ``receive()`` asked for one.
    /// An error means that this packet is lost; the next one may be good.
    package func send(_ packet: PacketBox?) throws(AVFailure) {
        try AVFailure.check(avcodec_send_packet(context, packet?.packet), "decode", subject)
    }

    /// As ``send(_:)``, of a packet that was read already.
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

    /// Takes the next frame out. An error means that a frame is lost; the next one may be good. All samples of audio are
    /// finite and at most ``loudestSample``: others, which encoders and filters would not survive, are replaced by silence
    /// or by that bound, and their frame counts as damaged.
    package func receive() throws(AVFailure) -> Output {
        let frame = try DecodedFrame(subject: subject)
        let code = avcodec_receive_frame(context, frame.frame)
        if code == relay_averror(EAGAIN) { return .needsPacket }
        if code == relay_averror_eof { return .ended }
        try AVFailure.check(code, "decode", subject)
        if context.pointee.codec_type == AVMEDIA_TYPE_AUDIO { try repairSamples(of: frame) }
        return .frame(frame)
    }

    /// The frame rate that the coding states; nil if it does not, or nothing was decoded yet.
    package var statedRate: FrameRate? { context.pointee.framerate.asFrameRate }

    /// How many frames are decoded before one that is shown earlier, as far as the decoder knows by now.
    package var reorderedFrames: Int { Int(max(0, context.pointee.has_b_frames)) }

    /// Forgets everything sent so far, for the packets of another place in the stream; also ends a drain.
    package func flush() { avcodec_flush_buffers(context) }
}
