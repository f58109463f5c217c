// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// Converts every decoded frame of a stream to a given format: upright, progressive, 8-bit 4:2:0, with the format's
/// size, pixel aspect ratio, range and matrix. If the aspect ratios differ, bars are added. HDR is mapped to standard
/// range, or the reverse, only if tone mapping is requested and ``ToneMapping/isPossible``.
///
/// If the matrix of a frame or format is unspecified, ``Media/ColorDescription/resolved(width:height:)`` chooses it by
/// the size. A frame that already has the format is passed on without a copy. Only one thread may use it at a time.
package final class FrameConverter {
    /// The properties of a frame that decide which filters are needed.
    private struct Shape: Hashable {
        var width: Int
        var height: Int
        var pixelFormat: Int32
        var aspect: SampleAspectRatio
        var color: ColorDescription
        var isInterlaced: Bool
        /// False for frames with a negative stride, which decoders make from bottom-up bitmaps.
        var rowsRunDown: Bool
    }

    /// The pixel aspect ratio that a frame states; nil if it states none.
    private struct StatedAspect: Hashable {
        var ratio: SampleAspectRatio?
    }

    private let target: VideoFormat
    private let fitting: FrameFitting
    private let mapsTones: Bool
    private let deinterlacing: Deinterlacing
    private let targetColor: ColorDescription
    private let stream: StreamInfo.Video
    private let timeBase: TimeBase
    private let subject: String
    /// The pixel aspect ratio that the first frame stated; nil before the first frame.
    private var firstAspect: StatedAspect?
    private var shape: Shape?
    private var graph: FilterGraph?
    /// The region that the video takes up in the converted frames, between bars; nil if there are no bars.
    private var region: FrameRegion?

    /// Creates a converter of the frames of `stream` to `target`; throws for a stream without video.
    package convenience init(_ stream: StreamInfo, target: VideoFormat, subject: String) throws(AVFailure) {
        try self.init(stream, target: target, fitting: .contain, mapsTones: false, subject: subject)
    }

    /// Creates a converter of the frames of `stream` to `target`, in which `fitting` positions them. With `mapsTones`,
    /// HDR frames are mapped to the range of a `target` in standard range, and other frames to the range of an HDR
    /// `target`. With `deinterlacing` to fields, the converted frames can have another time base than `stream`.
    package init(
        _ stream: StreamInfo, target: VideoFormat, fitting: FrameFitting, mapsTones: Bool,
        deinterlacing: Deinterlacing = .toFrames, subject: String
    ) throws(AVFailure) {
        self.target = target
        self.fitting = fitting
        self.mapsTones = mapsTones
        self.deinterlacing = deinterlacing
        targetColor = target.color.resolved(width: target.width, height: target.height)
        self.stream = try AVFailure.unwrap(stream.video, "find the frames of", subject)
        self.subject = subject
        timeBase = stream.timeBase
    }

    /// Creates a converter of the frames of `track` to `target`. `orientation` makes them upright; by default they stay
    /// as they are coded.
    package convenience init(
        _ track: TrackDescription, orientation: Orientation = .upright, target: VideoFormat, subject: String
    ) throws(AVFailure) {
        try self.init(
            try StreamInfo(track, orientation: orientation, subject: subject), target: target, subject: subject)
    }

    /// Converts a frame; `pts` is its time in ticks of the stream's time base. Delivers the frames that are ready:
    /// usually this one, and when deinterlacing the previous one or its two fields.
    package func convert(_ decoded: DecodedFrame, pts: Int64, deliver: (VideoFrame) -> Void) throws(AVFailure) {
        let current = traits(of: decoded)
        if shape != current {
            try finish(deliver: deliver)
            graph = try makeGraph(for: decoded, current)
            shape = current
        }
        guard let graph else {
            deliver(frame(decoded, pts: pts, timeBase))
            return
        }
        decoded.frame.pointee.pts = pts
        try graph.push(decoded)
        try drain(graph, deliver)
    }

    /// Delivers the frames that the filters still hold. The converter can be used again afterwards.
    package func finish(deliver: (VideoFrame) -> Void) throws(AVFailure) {
        shape = nil
        guard let finished = graph else { return }
        graph = nil
        try finished.push(nil)
        try drain(finished, deliver)
    }

    /// Discards the frames that the filters still hold.
    package func reset() {
        shape = nil
        graph = nil
    }

    private func drain(_ graph: FilterGraph, _ deliver: (VideoFrame) -> Void) throws(AVFailure) {
        let base = graph.timeBase ?? timeBase
        guard deinterlacing == .toFields else {
            while let decoded = try graph.pull() {
                deliver(frame(decoded, pts: base.rescale(decoded.frame.pointee.pts, to: timeBase), timeBase))
            }
            return
        }
        // The frames that are ready at the same time are the fields of one interlaced frame. A tick of `base` is half a
        // tick of the stream, so that the time of the second field is exact.
        var first: Int64?
        while let decoded = try graph.pull() {
            var field = frame(decoded, pts: decoded.frame.pointee.pts, base)
            if let first {
                // The time of the second field is halfway between two frames. If the frames' times go back, the second
                // field's time is not after the first field's time, and the second field is left out.
                if field.pts <= first { continue }
                // The filter copies the captions to both fields, so they are removed from the second field.
                field.captions = []
            }
            first = first ?? field.pts
            deliver(field)
        }
    }

    private func frame(_ decoded: DecodedFrame, pts: Int64, _ timeBase: TimeBase) -> VideoFrame {
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
        return Shape(
            width: decoded.width, height: decoded.height, pixelFormat: values.format,
            aspect: aspect(values.sample_aspect_ratio.asAspectRatio, sameSize: sameSize), color: color(of: decoded),
            // After the first interlaced frame, deinterlacing stays on. The filter bwdif does not change progressive
            // frames.
            isInterlaced: stream.isInterlaced || relay_frame_is_interlaced(decoded.frame) != 0
                || (shape?.isInterlaced == true && sameSize), rowsRunDown: values.linesize.0 > 0)
    }

    /// Returns the pixel aspect ratio of a frame that states `stated`. The container's ratio is used until the size
    /// changes, or until a frame states another ratio than the first frame did.
    private func aspect(_ stated: SampleAspectRatio?, sameSize: Bool) -> SampleAspectRatio {
        let first = firstAspect ?? StatedAspect(ratio: stated)
        firstAspect = first
        let isKept = sameSize && (stated == nil || stated == first.ratio)
        return (isKept ? stream.sampleAspectRatio ?? stated : stated) ?? .square
    }

    /// The frame's color tags, or the container's if the frame has none, or the default for its size.
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

    /// The filters for tone mapping from `source`; empty if tone mapping is not requested, not needed or not possible.
    private func toneFilters(from source: ColorDescription, isRGB: Bool) -> [String] {
        let filters = mapsTones ? ToneMapping.filters(from: source, to: targetColor, isRGB: isRGB) : []
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
        let isRGB = decoded.pixelFormat.isRGB
        let tones = toneFilters(from: shape.color, isRGB: isRGB)
        let conversion =
            tones.isEmpty
            ? colorConversion(shape.color, isRGB: isRGB)
            : colorConversion(ToneMapping.result(for: targetColor), isRGB: false)
        let keepsPixels = decoded.isPlanar420 && tones.isEmpty && conversion == nil && fit.isExact
        if keepsPixels, fit.fills(target), fit.kept == nil, !shape.isInterlaced, stream.orientation == .upright {
            return nil
        }

        var filters: [String] = []
        if shape.isInterlaced { filters.append(deinterlacing.filter) }
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
        // The "J" in `yuvj420p` makes libavfilter paint the bars in full-range black.
        filters.append("format=pix_fmts=\(target.color.isFullRange ? "yuvj420p" : "yuv420p")")
        if !fit.fills(target) {
            filters.append("pad=\(target.width):\(target.height):\(fit.left):\(fit.top):black")
        }
        return try FilterGraph(
            filters: filters.joined(separator: ","), like: decoded, timeBase: timeBase, subject: subject)
    }

    /// The options of the filter `scale` that convert range and matrix; nil if there is nothing to convert. A matrix
    /// that libswscale does not know is not converted.
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

    /// libswscale's name of an H.273 matrix; nil if libswscale does not know the matrix.
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

extension ColorDescription {
    /// Whether the color is HDR: PQ or HLG (ITU-T H.273, table 3).
    package var isHDR: Bool { transfer == 16 || transfer == 18 }
}

/// Tone mapping: converts HDR for screens without HDR, and standard range for programs in HDR.
package enum ToneMapping {
    /// Whether this machine's libavfilter has the necessary filters. The first use loads libavfilter.
    package static let isPossible = FilterGraph.has(["setparams", "zscale", "tonemap"])

    /// The luminance, in nits, that white of the standard range has in HDR (ITU-R BT.2408, table 1).
    private static let diffuseWhite = 203

    /// The color description of frames that were mapped for `target`: `target` in limited range if `target` is HDR;
    /// otherwise BT.709.
    static func result(for target: ColorDescription) -> ColorDescription {
        guard target.isHDR else { return .bt709 }
        var color = target
        color.isFullRange = false
        return color
    }

    /// The filters that convert frames of `source` to ``result(for:)``; empty if both or neither of `source` and
    /// `target` are HDR.
    static func filters(from source: ColorDescription, to target: ColorDescription, isRGB: Bool) -> [String] {
        if source.isHDR == target.isHDR { return [] }
        if target.isHDR {
            // The filter zscale refuses some rare code points; BT.709 replaces them.
            let primaries = [1, 5, 6, 9].contains(source.primaries) ? source.primaries : 1
            let transfer = [1, 6, 13, 14, 15].contains(source.transfer) ? source.transfer : 1
            let matrix = [1, 5, 6, 9].contains(source.matrix) ? source.matrix : 1
            return [
                "setparams=color_primaries=\(primaries):color_trc=\(transfer):colorspace=\(matrix)"
                    + ":range=\(source.isFullRange || isRGB ? "pc" : "tv")",
                "zscale=t=linear:npl=\(diffuseWhite)", "format=gbrpf32le",
                "zscale=p=\(target.primaries == 9 ? "bt2020" : "bt709")"
                    + ":t=\(target.transfer == 16 ? "smpte2084" : "arib-std-b67")"
                    + ":m=\(target.matrix == 9 ? "bt2020nc" : "bt709"):r=tv:npl=\(diffuseWhite)", "format=yuv420p",
            ]
        }
        return [
            // Frames may lack the color tags that their container has.
            "setparams=color_primaries=\(source.primaries):color_trc=\(source.transfer):colorspace=\(source.matrix)"
                + ":range=\(source.isFullRange ? "pc" : "tv")",
            "zscale=t=linear:npl=100", "format=gbrpf32le", "zscale=p=bt709", "tonemap=hable",
            "zscale=t=bt709:m=bt709:r=tv", "format=yuv420p",
        ]
    }
}
