// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// Decodes the coded packets of one audio track into the program's format; the owner of an `AVCodecContext`. Used by one
/// thread at a time.
package final class AudioPacketDecoder {
    /// How the packets are coded.
    package let track: TrackDescription
    private let context: UnsafeMutablePointer<AVCodecContext>
    private let resampler: Resampler
    private let subject: String

    /// A decoder of the packets of `track`.
    package init(_ track: TrackDescription, subject: String) throws(AVFailure) {
        _ = Library.prepared
        self.track = track
        self.subject = subject
        resampler = Resampler(target: .program, subject: subject)
        guard let codec = avcodec_find_decoder(track.codec.libavID) else {
            throw AVFailure(
                operation: "find a decoder for", subject: subject, code: relay_averror_decoder_not_found)
        }
        context = try AVFailure.unwrap(avcodec_alloc_context3(codec), "allocate a decoder for", subject)
        // From here on every property is set: whatever is thrown, `deinit` frees the context and what it holds.
        let configuration = track.decoderConfiguration.array
        let room = configuration.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)
        let bytes = try AVFailure.unwrap(av_mallocz(room), "describe", subject)
        bytes.copyMemory(from: configuration, byteCount: configuration.count)
        context.pointee.extradata = bytes.assumingMemoryBound(to: UInt8.self)
        context.pointee.extradata_size = Int32(configuration.count)
        context.pointee.sample_rate = track.audioFormat?.sampleRate ?? 48_000
        relay_codec_context_set_channels(context, Int32(track.audioFormat?.channels ?? 2))
        context.pointee.thread_count = 1
        try AVFailure.check(avcodec_open2(context, codec, nil), "open a decoder for", subject)
    }

    deinit {
        var owned: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&owned)
    }

    /// The audio that came out, which follows what came out before. An error means that this packet is lost.
    package func decode(_ packet: EncodedPacket) throws(AVFailure) -> [AudioBuffer] {
        let box = try PacketBox(subject: subject)
        try AVFailure.check(
            av_new_packet(box.packet, Int32(packet.payload.count)), "allocate a packet for", subject)
        packet.payload.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let data = box.packet.pointee.data else { return }
            UnsafeMutableRawPointer(data).copyMemory(from: base, byteCount: bytes.count)
        }
        try AVFailure.check(avcodec_send_packet(context, box.packet), "decode", subject)
        var audio: [AudioBuffer] = []
        while true {
            let frame = try DecodedFrame(subject: subject)
            let code = avcodec_receive_frame(context, frame.frame)
            if code == relay_averror(EAGAIN) || code == relay_averror_eof { return audio }
            try AVFailure.check(code, "decode", subject)
            audio.append(try resampler.convert(frame))
        }
    }
}
