// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// The format of coded video frames, which libavcodec reads from their parameter sets.
package struct CodedShape: Sendable {
    /// Size, pixel aspect ratio and color.
    package let frames: FrameFormat
    /// Number of frames that the decoder holds for reordering; 0 if libavcodec does not know it.
    package let reorderDepth: Int64

    /// Opens a decoder with `configuration`, which has the form of ``Media/TrackDescription/decoderConfiguration``, and
    /// decodes `keyframe`. This takes some milliseconds. Throws if decoding fails, or if the frames have more than
    /// `mostPixels` pixels.
    package init(
        of codec: Codec, configuration: [UInt8], keyframe: SharedBytes, mostPixels: Int64 = LargestFrame.pixels,
        subject: String
    ) throws(AVFailure) {
        let reader = try ShapeReader(codec, configuration, mostPixels: mostPixels, subject)
        try reader.decode(keyframe)
        let values = reader.context.pointee
        try AVFailure.check(
            width: Int(values.width), height: Int(values.height), limit: mostPixels, "decode", subject)
        guard values.width > 0, values.height > 0 else {
            throw AVFailure(operation: "read the parameter sets of", subject: subject, code: relay_averror_invalid_data)
        }
        frames = FrameFormat(
            width: Int(values.width), height: Int(values.height),
            sampleAspectRatio: values.sample_aspect_ratio.asAspectRatio ?? .square,
            color: ColorDescription(
                format: values.pix_fmt, primaries: values.color_primaries, transfer: values.color_trc,
                matrix: values.colorspace, range: values.color_range))
        reorderDepth = Int64(values.has_b_frames)
    }

    /// Returns a description of the track with this frame format. Players show its frames in `orientation`.
    package func track(
        _ codec: Codec, configuration: [UInt8], timeBase: TimeBase, bitrate: Int, nominalRate: FrameRate?,
        orientation: Orientation = .upright
    ) -> TrackDescription {
        TrackDescription(
            video: codec, frames: frames, timeBase: timeBase, decoderConfiguration: SharedBytes(configuration),
            bitrate: bitrate, nominalRate: nominalRate, reorderDepth: reorderDepth,
            displayMatrix: orientation.displayMatrix(frames.width, frames.height))
    }
}

/// Owns a decoder that decodes one frame.
private final class ShapeReader {
    let context: UnsafeMutablePointer<AVCodecContext>
    private let subject: String

    init(_ codec: Codec, _ configuration: [UInt8], mostPixels: Int64, _ subject: String) throws(AVFailure) {
        _ = Library.prepared
        self.subject = subject
        guard let decoder = avcodec_find_decoder(codec.libavID) else {
            throw AVFailure(operation: "find a decoder for", subject: subject, code: relay_averror_decoder_not_found)
        }
        context = try AVFailure.unwrap(avcodec_alloc_context3(decoder), "allocate a decoder for", subject)
        // From here on every property is set. So if the initializer throws, `deinit` frees the context.
        context.pointee.thread_count = 1
        context.pointee.max_pixels = mostPixels
        let room = configuration.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)
        let bytes = try AVFailure.unwrap(av_mallocz(room), "describe", subject)
        bytes.copyMemory(from: configuration, byteCount: configuration.count)
        context.pointee.extradata = bytes.assumingMemoryBound(to: UInt8.self)
        context.pointee.extradata_size = Int32(configuration.count)
        try AVFailure.check(avcodec_open2(context, decoder, nil), "open a decoder for", subject)
    }

    deinit {
        var owned: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&owned)
    }

    func decode(_ keyframe: SharedBytes) throws(AVFailure) {
        let box = try PacketBox(subject: subject)
        try AVFailure.check(av_new_packet(box.packet, Int32(clamping: keyframe.count)), "decode", subject)
        keyframe.withUnsafeBytes { bytes in
            guard let source = bytes.baseAddress else { return }
            box.packet.pointee.data?.update(from: source.assumingMemoryBound(to: UInt8.self), count: bytes.count)
        }
        box.packet.pointee.flags |= AV_PKT_FLAG_KEY
        do throws(AVFailure) {
            try AVFailure.check(avcodec_send_packet(context, box.packet), "decode", subject)
        } catch {
            throw context.explained(error)
        }
        guard context.pointee.width <= 0 else { return }
        // A decoder that has its own threads may know the format only when it returns the first frame, so the end of
        // the input makes it return the frame.
        try AVFailure.check(avcodec_send_packet(context, nil), "decode", subject)
        let frame = try DecodedFrame(subject: subject)
        _ = avcodec_receive_frame(context, frame.frame)
    }
}
