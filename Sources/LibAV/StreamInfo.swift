// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// A demuxer's information about one stream.
package struct StreamInfo: Sendable {
    /// Information about a video stream.
    package struct Video: Sendable {
        /// Number of columns as coded, before rotation.
        package let width: Int
        /// Number of rows as coded, before rotation.
        package let height: Int
        /// The average frame rate, from the container or from probing.
        package let averageRate: FrameRate?
        /// The lowest frame rate that can express every timestamp.
        package let baseRate: FrameRate?
        /// The pixel aspect ratio as coded, if it is known.
        package let sampleAspectRatio: SampleAspectRatio?
        /// The color tags. RGB video is converted, so its tags are those of ``Media/ColorDescription/bt709``.
        package let color: ColorDescription
        /// How frames must be rotated or mirrored to be upright.
        package let orientation: Orientation
        /// Whether the container or the codec marks frames as interlaced.
        package let isInterlaced: Bool
        /// The number of frames that the decoder holds for reordering.
        package let reorderedFrames: Int
    }

    /// The stream's index in its container.
    package let index: Int
    /// The kind of track.
    package let kind: TrackKind
    /// The time base of the stream's packets and frames.
    package let timeBase: TimeBase
    /// The number of bits of a transmitted timestamp: 33 in MPEG-TS, 32 in FLV, 64 if timestamps never wrap.
    package let stampBits: Int
    /// The codec's name.
    package let codecName: String
    /// The properties of the video; nil for audio.
    package private(set) var video: Video?
    /// For audio, the number of samples per second; 0 for video.
    package let sampleRate: Int
    /// For audio, the number of channels, if probing found it; otherwise 0.
    package private(set) var channels = 0
    /// The languages from the container, in lower case, with letters and hyphens only. There is usually one language.
    /// Dual mono in MPEG-TS has one for each channel (EN 300 468, 6.2.18; ISO/IEC 13818-1, 2.6.18).
    package private(set) var languages: [String] = []

    /// The stream's number in its format, such as its PID in MPEG-TS; 0 if it has none.
    private(set) var id = 0

    private(set) var parameters: CodecParameters
}

/// Owns a copy of an `AVCodecParameters`.
final class CodecParameters: Sendable {
    // Written only in `init`, and read-only from then on. `deinit` frees it.
    nonisolated(unsafe) let pointer: UnsafeMutablePointer<AVCodecParameters>

    /// Creates a copy of `source`. If `configuration` is given, it replaces the decoder configuration.
    init(
        copying source: UnsafeMutablePointer<AVCodecParameters>, configuration: SharedBytes? = nil, subject: String
    ) throws(AVFailure) {
        pointer = try AVFailure.unwrap(avcodec_parameters_alloc(), "describe", subject)
        try AVFailure.check(avcodec_parameters_copy(pointer, source), "describe", subject)
        guard let configuration else { return }
        av_free(pointer.pointee.extradata)
        pointer.pointee.extradata = nil
        pointer.pointee.extradata_size = 0
        try pointer.setExtradata(configuration, subject: subject)
    }

    deinit {
        var owned: UnsafeMutablePointer<AVCodecParameters>? = pointer
        avcodec_parameters_free(&owned)
    }
}

extension StreamInfo {
    /// Reads a stream of an opened container; nil if the stream is neither video nor audio, or has no valid time base.
    /// If `own` is given, the packets have times in this time base, and their times do not wrap; otherwise they have
    /// the container's times.
    init?(
        _ stream: UnsafeMutablePointer<AVStream>, timeBase own: TimeBase? = nil, subject: String
    ) throws(AVFailure) {
        guard let source = stream.pointee.codecpar, let base = stream.pointee.time_base.asTimeBase else { return nil }
        switch source.pointee.codec_type {
        case AVMEDIA_TYPE_VIDEO:
            kind = .video
            video = Video(stream, source)
            sampleRate = 0
            channels = 0
        case AVMEDIA_TYPE_AUDIO:
            kind = .audio
            video = nil
            sampleRate = Int(source.pointee.sample_rate)
            channels = Int(relay_parameters_channels(source))
        default:
            return nil
        }
        index = Int(stream.pointee.index)
        id = Int(stream.pointee.id)
        timeBase = own ?? base
        stampBits = own == nil ? Int(stream.pointee.pts_wrap_bits) : 64
        languages =
            stream.pointee.metadata.text("language")?.lowercased().split(separator: ",").map(String.init)
            .filter { $0 != "und" && $0.allSatisfy { $0.isASCII && $0.isLetter || $0 == "-" } } ?? []
        codecName = String(cString: avcodec_get_name(source.pointee.codec_id))
        parameters = try CodecParameters(copying: source, subject: subject)
    }
}

extension StreamInfo.Video {
    init(_ stream: UnsafeMutablePointer<AVStream>, _ parameters: UnsafeMutablePointer<AVCodecParameters>) {
        let values = parameters.pointee
        width = Int(values.width)
        height = Int(values.height)
        averageRate = stream.pointee.avg_frame_rate.asFrameRate
        baseRate = stream.pointee.r_frame_rate.asFrameRate
        sampleAspectRatio =
            stream.pointee.sample_aspect_ratio.asAspectRatio ?? values.sample_aspect_ratio.asAspectRatio
        color = ColorDescription(
            format: AVPixelFormat(rawValue: values.format), primaries: values.color_primaries,
            transfer: values.color_trc, matrix: values.color_space, range: values.color_range)
        switch values.field_order {
        case AV_FIELD_TT, AV_FIELD_BB, AV_FIELD_TB, AV_FIELD_BT: isInterlaced = true
        default: isInterlaced = false
        }
        reorderedFrames = Int(max(0, values.video_delay))
        let matrix = relay_display_matrix(stream)
        let entries = UnsafeRawBufferPointer(start: matrix, count: matrix == nil ? 0 : 36)
        orientation = Orientation(
            matrix: stride(from: 0, to: entries.count & ~3, by: 4).map {
                entries.loadUnaligned(fromByteOffset: $0, as: Int32.self)
            })
    }
}

extension StreamInfo {
    /// Returns this stream's information with the size, pixel aspect ratio and color of one of its frames. `rate` is
    /// the frame rate that the coded stream states; it is used if the container has none. `reordered` is the number of
    /// frames that the decoder reorders.
    package func described(by frame: DecodedFrame, rate: FrameRate?, reordered: Int) -> StreamInfo {
        guard let known = video else { return self }
        let values = frame.frame.pointee
        var described = self
        described.video = Video(
            width: frame.width, height: frame.height, averageRate: known.averageRate ?? rate, baseRate: known.baseRate,
            sampleAspectRatio: known.sampleAspectRatio ?? values.sample_aspect_ratio.asAspectRatio,
            color: ColorDescription(
                format: frame.pixelFormat, primaries: values.color_primaries, transfer: values.color_trc,
                matrix: values.colorspace, range: values.color_range), orientation: known.orientation,
            isInterlaced: known.isInterlaced || relay_frame_is_interlaced(frame.frame) != 0,
            reorderedFrames: max(known.reorderedFrames, reordered))
        return described
    }

    /// Returns this stream's information with `configuration` as the decoder's configuration.
    package func configured(by configuration: [UInt8]) throws(AVFailure) -> StreamInfo {
        var configured = self
        configured.parameters = try CodecParameters(
            copying: parameters.pointer, configuration: SharedBytes(configuration), subject: codecName)
        return configured
    }

    /// The container's configuration for the decoder; empty if it has none.
    package var configuration: [UInt8] { parameters.extraData ?? [] }
}

extension StreamInfo.Video {
    /// Creates the information from a frame format and a track description, without a demuxer.
    init(_ frames: FrameFormat, _ track: TrackDescription, _ orientation: Orientation) {
        (width, height) = (frames.width, frames.height)
        (averageRate, baseRate) = (track.nominalRate, nil)
        (sampleAspectRatio, color) = (frames.sampleAspectRatio, frames.color)
        (self.orientation, isInterlaced) = (orientation, false)
        reorderedFrames = Int(track.reorderDepth)
    }
}

extension ColorDescription {
    /// Converts libav's color tags. RGB has no tags for YCbCr; it is converted to limited-range BT.709.
    init(
        format: AVPixelFormat, primaries: AVColorPrimaries, transfer: AVColorTransferCharacteristic,
        matrix: AVColorSpace, range: AVColorRange
    ) {
        if format.isRGB {
            self = .bt709
        } else {
            self.init(
                primaries: UInt8(truncatingIfNeeded: primaries.rawValue),
                transfer: UInt8(truncatingIfNeeded: transfer.rawValue),
                matrix: UInt8(truncatingIfNeeded: matrix.rawValue),
                isFullRange: range == AVCOL_RANGE_JPEG || (range != AVCOL_RANGE_MPEG && format.isFullRangeByNature))
        }
    }
}

extension Optional where Wrapped == OpaquePointer {
    /// The value of `key` in a libav dictionary; nil if it is missing.
    func text(_ key: String) -> String? {
        av_dict_get(self, key, nil, 0).flatMap { $0.pointee.value }.map { String(cString: $0) }
    }
}

extension AVPixelFormat {
    /// Whether the format is RGB, or a palette of RGB.
    var isRGB: Bool {
        guard let traits = av_pix_fmt_desc_get(self) else { return false }
        return traits.pointee.flags & UInt64(AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL) != 0
    }

    /// Whether the format itself implies full range: the old "J" formats, and gray.
    var isFullRangeByNature: Bool {
        switch self {
        case AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_YUVJ440P, AV_PIX_FMT_YUVJ411P:
            true
        default: av_pix_fmt_desc_get(self)?.pointee.nb_components == 1 && !isRGB
        }
    }
}

// MARK: Packets that do not come from a demuxer

extension StreamInfo {
    /// Creates the stream information for the packets of `track`, which must be video or audio. `orientation` says how
    /// frames must be rotated or mirrored; by default they are used as they are coded.
    package init(
        _ track: TrackDescription, orientation: Orientation = .upright, subject: String
    ) throws(AVFailure) {
        var owned = avcodec_parameters_alloc()
        defer { avcodec_parameters_free(&owned) }
        let values = try AVFailure.unwrap(owned, "describe", subject)
        values.pointee.codec_type = track.kind == .video ? AVMEDIA_TYPE_VIDEO : AVMEDIA_TYPE_AUDIO
        values.pointee.codec_id = track.codec.libavID
        // The AC-3 configuration of a track is only for MP4. An AC-3 decoder needs no configuration.
        if track.codec != .ac3 { try values.setExtradata(track.decoderConfiguration, subject: subject) }
        var video: Video?
        if let frames = track.frameFormat {
            values.pointee.width = Int32(clamping: frames.width)
            values.pointee.height = Int32(clamping: frames.height)
            values.pointee.video_delay = Int32(clamping: track.reorderDepth)
            video = Video(frames, track, orientation)
        }
        if let format = track.audioFormat {
            values.pointee.sample_rate = format.sampleRate
            values.pointee.frame_size = Int32(clamping: track.frameLength)
            relay_parameters_set_channels(values, Int32(clamping: format.channels))
        }
        self.init(
            index: track.kind == .video ? 0 : 1, kind: track.kind, timeBase: track.timeBase, stampBits: 64,
            codecName: track.codec.description, video: video, sampleRate: Int(track.audioFormat?.sampleRate ?? 0),
            parameters: try CodecParameters(copying: values, subject: subject))
    }
}

extension UnsafeMutablePointer<AVCodecParameters> {
    /// Copies a decoder configuration into the parameters; does nothing if it is empty.
    func setExtradata(_ configuration: SharedBytes, subject: String) throws(AVFailure) {
        guard configuration.count > 0 else { return }
        let memory = try AVFailure.unwrap(
            av_mallocz(configuration.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)), "describe", subject)
        configuration.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: memory, count: bytes.count).copyMemory(from: bytes)
        }
        pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
        pointee.extradata_size = Int32(clamping: configuration.count)
    }
}
