// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
internal import Media

/// Owns one JPEG session of libavcodec, for frames of one size. Only one thread may use it at a time. `deinit` frees
/// libavcodec's objects.
final class JPEGEncoder {
    private let context: UnsafeMutablePointer<AVCodecContext>
    private let frame: UnsafeMutablePointer<AVFrame>
    private let packet: UnsafeMutablePointer<AVPacket>
    private let subject: String

    /// Opens a session for full-range 4:2:0 frames of this size, which must be even. `quality` is on libavcodec's
    /// scale, from 2 (best) to 31.
    init(width: Int, height: Int, quality: Int32) throws(AVFailure) {
        _ = Library.prepared
        subject = "JPEG of \(width)x\(height)"
        guard let codec = avcodec_find_encoder(AV_CODEC_ID_MJPEG), let context = avcodec_alloc_context3(codec) else {
            throw AVFailure(operation: "find an encoder for", subject: subject, code: relay_averror(ENOSYS))
        }
        context.pointee.width = Int32(width)
        context.pointee.height = Int32(height)
        context.pointee.pix_fmt = AV_PIX_FMT_YUVJ420P
        context.pointee.color_range = AVCOL_RANGE_JPEG
        // A single frame has no rate, but the encoder requires one.
        context.pointee.time_base = AVRational(num: 1, den: 25)
        context.pointee.flags |= AV_CODEC_FLAG_QSCALE
        context.pointee.global_quality = quality * FF_QP2LAMBDA
        context.pointee.thread_count = 1
        var ownedContext: UnsafeMutablePointer<AVCodecContext>? = context
        var ownedFrame = av_frame_alloc()
        var ownedPacket = av_packet_alloc()
        let opened = avcodec_open2(context, codec, nil)
        guard opened >= 0, let frame = ownedFrame, let packet = ownedPacket else {
            av_packet_free(&ownedPacket)
            av_frame_free(&ownedFrame)
            avcodec_free_context(&ownedContext)
            throw AVFailure(
                operation: "open an encoder for", subject: subject, code: opened < 0 ? opened : relay_averror(ENOMEM))
        }
        (self.context, self.frame, self.packet) = (context, frame, packet)
        frame.pointee.width = Int32(width)
        frame.pointee.height = Int32(height)
        frame.pointee.format = AV_PIX_FMT_YUVJ420P.rawValue
        frame.pointee.color_range = AVCOL_RANGE_JPEG
        frame.pointee.quality = context.pointee.global_quality
        try AVFailure.check(av_frame_get_buffer(frame, 0), "allocate a frame for", subject)
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
        var frame: UnsafeMutablePointer<AVFrame>? = frame
        av_frame_free(&frame)
        var context: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&context)
    }

    /// Encodes `source`, which must have the session's size, as a JPEG file. `colors` converts the samples; it is nil
    /// if they already have the colors of JPEG files. Call this method only once per session, because it drains
    /// libavcodec's encoder.
    func encode(_ source: VideoFrame, colors: JPEGColors? = nil) throws(AVFailure) -> [UInt8] {
        try AVFailure.check(av_frame_make_writable(frame), "encode", subject)
        source.storage.withPlanes { planes in
            let (data, strides) = (frame.pointee.data, frame.pointee.linesize)
            Self.copy(planes.y, to: data.0, Int(strides.0), width: source.width, rows: source.height)
            Self.copy(planes.u, to: data.1, Int(strides.1), width: source.width / 2, rows: source.height / 2)
            Self.copy(planes.v, to: data.2, Int(strides.2), width: source.width / 2, rows: source.height / 2)
            guard let colors, let y = data.0, let u = data.1, let v = data.2 else { return }
            colors.convert(
                y: .init(samples: y, stride: Int(strides.0)), u: .init(samples: u, stride: Int(strides.1)),
                v: .init(samples: v, stride: Int(strides.2)), width: source.width, height: source.height)
        }
        frame.pointee.pts = 0
        try AVFailure.check(avcodec_send_frame(context, frame), "encode", subject)
        try AVFailure.check(avcodec_send_frame(context, nil), "encode", subject)
        try AVFailure.check(avcodec_receive_packet(context, packet), "encode", subject)
        defer { av_packet_unref(packet) }
        guard let data = packet.pointee.data else { return [] }
        return Array(UnsafeBufferPointer(start: data, count: Int(packet.pointee.size)))
    }

    private static func copy(
        _ plane: Planes.Plane, to target: UnsafeMutablePointer<UInt8>?, _ stride: Int, width: Int, rows: Int
    ) {
        guard let target else { return }
        for row in 0..<rows {
            UnsafeMutableRawPointer(target + row * stride)
                .copyMemory(from: plane.bytes + row * plane.stride, byteCount: width)
        }
    }
}
