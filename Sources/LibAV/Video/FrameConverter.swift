// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// Makes every decoded frame of a stream into one of a given format: upright, progressive, of that size and shape
/// with bars where shapes differ, 8-bit 4:2:0, in that range and matrix. High dynamic range stays what it is, unless tones
/// are to be mapped and ``ToneMapping/isPossible``.
///
/// A frame or a format whose matrix is unspecified has the one that ``Media/ColorDescription/resolved(width:height:)``
/// gives to its size. A frame that is so already passes without a copy. Used by one thread at a time.
package final class FrameConverter {
    /// What decides which filters are needed.
    private struct Shape: Hashable {
        var width: Int
        var height: Int
        var pixelFormat: Int32
        var aspect: SampleAspectRatio
        var color: ColorDescription
        var isInterlaced: Bool
        /// False for what decoders yield from bottom-up bitmaps, whose rows run backwards.
        var rowsRunDown: Bool
    }

    private let target: VideoFormat
    private let fitting: FrameFitting
    private let mapsTones: Bool
    private let targetColor: ColorDescription
    private let stream: StreamInfo.Video
    private let timeBase: TimeBase
    private let subject: String
    private var shape: Shape?
    private var graph: FilterGraph?
    /// The place of the video in frames of `shape`.
    private var region: FrameRegion?

    /// A converter of the frames of `stream` into `target`; a stream without video throws.
    package convenience init(_ stream: StreamInfo, target: VideoFormat, subject: String) throws(AVFailure) {
        try self.init(stream, target: target, fitting: .contain, mapsTones: false, subject: subject)
    }

    /// A converter of the frames of `stream` into `target`, where they are placed as `fitting` says. If it `mapsTones`,
    /// frames of high dynamic range are mapped to standard range, unless `target` is of high dynamic range, too.
    package init(
        _ stream: StreamInfo, target: VideoFormat, fitting: FrameFitting, mapsTones: Bool, subject: String
    ) throws(AVFailure) {
        self.target = target
        self.fitting = fitting
        self.mapsTones = mapsTones
        targetColor = target.color.resolved(width: target.width, height: target.height)
        self.stream = try AVFailure.unwrap(stream.video, "find the frames of", subject)
        self.subject = subject
        timeBase = stream.timeBase
    }

    /// A converter of the frames of `track` into `target`.
    package convenience init(_ track: TrackDescription, target: VideoFormat, subject: String) throws(AVFailure) {
        try self.init(try StreamInfo(track, subject: subject), target: target, subject: subject)
    }

    /// Converts a frame with its pts, in ticks of the stream's time base, and delivers what is ready: mostly this
    /// frame; when deinterlacing, the one before.
    package func convert(
        _ decoded: DecodedFrame, pts: Int64, deliver: (VideoFrame) -> Void
    ) throws(AVFailure) {
        let current = traits(of: decoded)
        if shape != current {
            try finish(deliver: deliver)
            graph = try makeGraph(for: decoded, current)
            shape = current
        }
        guard let graph else {
            deliver(frame(decoded, pts: pts))
            return
        }
        decoded.frame.pointee.pts = pts
        try graph.push(decoded)
        try drain(graph, deliver)
    }

    /// Delivers what the filters still hold. The converter can be used again afterwards.
    package func finish(deliver: (VideoFrame) -> Void) throws(AVFailure) {
        shape = nil
        guard let finished = graph else { return }
        graph = nil
        try finished.push(nil)
        try drain(finished, deliver)
    }

    /// Forgets what the filters still hold.
    package func reset() {
        shape = nil
        graph = nil
    }

    private func drain(_ graph: FilterGraph, _ deliver: (VideoFrame) -> Void) throws(AVFailure) {
        let base = graph.timeBase ?? timeBase
        while let decoded = try graph.pull() {
            deliver(frame(decoded, pts: base.rescale(decoded.frame.pointee.pts, to: timeBase)))
        }
    }

    private func frame(_ decoded: DecodedFrame, pts: Int64) -> VideoFrame {
        var frame = VideoFrame(
            pts: pts, timeBase: timeBase, width: target.width, height: target.height, storage: decoded)
        frame.captions = decoded.captions
        frame.region = region
        return frame
    }
}

extension FrameConverter {
    private func traits(of decoded: DecodedFrame) -> Shape {
        let values = decoded.frame.pointee
        let sameSize = decoded.width == stream.width && decoded.height == stream.height
        let stated = values.sample_aspect_ratio.asAspectRatio
        return Shape(
            width: decoded.width, height: decoded.height, pixelFormat: values.format,
            aspect: (sameSize ? stream.sampleAspectRatio ?? stated : stated) ?? .square, color: color(of: decoded),
            // Once interlaced, always: bwdif itself leaves frames alone that are not.
            isInterlaced: stream.isInterlaced || relay_frame_is_interlaced(decoded.frame) != 0
                || (shape?.isInterlaced == true && sameSize),
            rowsRunDown: values.linesize.0 > 0)
    }

    /// The frame's tags, or the container's where the frame has none, or what its size says.
    private func color(of decoded: DecodedFrame) -> ColorDescription {
        let values = decoded.frame.pointee
        var found = ColorDescription(
            format: decoded.pixelFormat, primaries: values.color_primaries, transfer: values.color_trc,
            matrix: values.colorspace, range: values.color_range)
        if found.matrix == 2 {
            found.matrix = stream.color.matrix
            if found.primaries == 2 { found.primaries = stream.color.primaries }
            if found.transfer == 2 { found.transfer = stream.color.transfer }
        }
        if values.color_range == AVCOL_RANGE_UNSPECIFIED, !decoded.pixelFormat.isRGB,
            !decoded.pixelFormat.isFullRangeByNature
        {
            found.isFullRange = stream.color.isFullRange
        }
        return found.resolved(width: decoded.width, height: decoded.height)
    }

    /// The filters that map tones from `source`; none where that is not wanted, not needed or not possible.
    private func toneFilters(from source: ColorDescription) -> [String] {
        let filters = mapsTones ? ToneMapping.filters(from: source, to: targetColor) : []
        return filters.isEmpty || ToneMapping.isPossible ? filters : []
    }

    private func makeGraph(for decoded: DecodedFrame, _ shape: Shape) throws(AVFailure) -> FilterGraph? {
        var (width, height, aspect) = (shape.width, shape.height, shape.aspect)
        if stream.orientation.swapsAxes {
            swap(&width, &height)
            aspect = SampleAspectRatio(aspect.vertical, aspect.horizontal)
        }
        let fit = FrameFit(width: width, height: height, aspect: aspect, target: target, fitting)
        region = fit.region(in: target)
        let tones = toneFilters(from: shape.color)
        let conversion =
            tones.isEmpty
            ? colorConversion(shape.color, isRGB: decoded.pixelFormat.isRGB) : colorConversion(.bt709, isRGB: false)
        let keepsPixels = decoded.isPlanar420 && tones.isEmpty && conversion == nil && fit.isExact
        if keepsPixels, fit.fills(target), fit.kept == nil, !shape.isInterlaced, stream.orientation == .upright {
            return nil
        }

        var filters: [String] = []
        if shape.isInterlaced { filters.append("bwdif=mode=send_frame:parity=auto:deint=interlaced") }
        filters += tones + stream.orientation.filters
        if let kept = fit.kept {
            filters.append("crop=\(kept.width):\(kept.height)")
            (width, height) = (kept.width, kept.height)
        }
        if fit.isExact, width != fit.width || height != fit.height {
            filters.append("crop=\(fit.width):\(fit.height):0:0:exact=1")
        }
        if !keepsPixels {
            filters.append("scale=\(fit.width):\(fit.height):flags=bicubic+accurate_rnd\(conversion ?? "")")
        }
        // The "J" name is what makes libavfilter paint the bars in full-range black.
        filters.append("format=pix_fmts=\(target.color.isFullRange ? "yuvj420p" : "yuv420p")")
        if !fit.fills(target) {
            filters.append("pad=\(target.width):\(target.height):\(fit.left):\(fit.top):black")
        }
        return try FilterGraph(
            filters: filters.joined(separator: ","), like: decoded, timeBase: timeBase, subject: subject)
    }

    /// The options of `scale` that convert range and matrix; nil when nothing differs. A matrix that libswscale does not
    /// know stays what it is.
    private func colorConversion(_ source: ColorDescription, isRGB: Bool) -> String? {
        let wanted = Self.matrixName(targetColor.matrix)
        let given = Self.matrixName(source.matrix)
        let ranges =
            ":in_range=\(source.isFullRange || isRGB ? "full" : "limited")"
            + ":out_range=\(targetColor.isFullRange ? "full" : "limited")"
        if isRGB { return "\(ranges):out_color_matrix=\(wanted ?? "bt709")" }
        if let wanted, let given, wanted != given {
            return "\(ranges):in_color_matrix=\(given):out_color_matrix=\(wanted)"
        }
        if source.isFullRange == targetColor.isFullRange { return nil }
        let matrix = given ?? wanted ?? "bt709"
        return "\(ranges):in_color_matrix=\(matrix):out_color_matrix=\(matrix)"
    }

    /// libswscale's name of a matrix of ITU-T H.273; nil for those that it does not know.
    static func matrixName(_ code: UInt8) -> String? {
        switch code {
        case 1: "bt709"
        case 4: "fcc"
        case 5, 6: "bt601"
        case 7: "smpte240m"
        case 9: "bt2020"
        default: nil
        }
    }
}
