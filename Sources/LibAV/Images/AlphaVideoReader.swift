// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// Decodes a video file with alpha into frames with the program's size, rate and colors, each with an alpha plane. Only
/// one thread may use it at a time.
package final class AlphaVideoReader {
    private let reader: AlphaReader
    private let format: VideoFormat
    private let path: String
    private var graph: FilterGraph?
    private var isDrained = false
    private var count: Int64 = 0
    private var last: DecodedFrame?
    /// The time between the last two frames, in the file's ticks.
    private var step: Int64 = 0

    /// Opens the file at `path`. Blocks.
    package init(_ path: String, format: VideoFormat) throws(AVFailure) {
        (self.path, self.format) = (path, format)
        reader = try AlphaReader(path)
    }

    /// Returns the next frame, whose storage is an `AlphaFrameStorage`; nil after the last one. Throws if the video has
    /// no alpha.
    package func next() throws(AVFailure) -> VideoFrame? {
        while true {
            if let graph, let frame = try graph.pull() {
                defer { count += 1 }
                return VideoFrame(
                    pts: count, timeBase: format.frameRate.timeBase, duration: 1, width: format.width,
                    height: format.height, storage: frame)
            }
            if isDrained { return nil }
            guard let decoded = try reader.next() else {
                isDrained = true
                try finish()
                continue
            }
            if graph == nil { graph = try makeGraph(for: decoded) }
            decoded.frame.pointee.pts = decoded.pts ?? decoded.frame.pointee.pts
            if let last { step = decoded.frame.pointee.pts - last.frame.pointee.pts }
            try graph?.push(decoded)
            last = decoded
        }
    }

    /// Ends the input of the graph. The filter `fps` drops a frame whose time equals the end time. Therefore the last
    /// frame is sent once more, later by its own duration.
    private func finish() throws(AVFailure) {
        if let last, step > 0 {
            last.frame.pointee.pts += step
            try graph?.push(last)
        }
        try graph?.push(nil)
    }

    private func makeGraph(for decoded: DecodedFrame) throws(AVFailure) -> FilterGraph {
        guard decoded.hasAlpha else {
            throw AVFailure(operation: "find alpha in the video of", subject: path, code: AVFailure.invalidData)
        }
        let color = format.color.resolved(width: format.width, height: format.height)
        let matrix = FrameConverter.matrixName(color.matrix) ?? "bt709"
        let rate = format.frameRate
        return try FilterGraph(
            filters: "fps=fps=\(rate.numerator)/\(rate.denominator),scale=\(format.width):\(format.height)"
                + ":flags=bicubic+accurate_rnd:out_color_matrix=\(matrix)"
                + ":out_range=\(color.isFullRange ? "full" : "limited"),format=yuva420p",
            like: decoded, timeBase: reader.timeBase, subject: path)
    }
}

extension DecodedFrame: AlphaFrameStorage {
    /// Whether the pixel format has alpha, as a plane or in each pixel.
    var hasAlpha: Bool {
        av_pix_fmt_desc_get(pixelFormat).map { $0.pointee.flags & UInt64(AV_PIX_FMT_FLAG_ALPHA) != 0 } ?? false
    }

    /// Passes the alpha plane to `body`. Only planar frames with alpha have this plane.
    package func withAlpha<R>(_ body: (Planes.Plane) throws -> R) rethrows -> R {
        guard let alpha = frame.pointee.data.3 else {
            preconditionFailure("only a frame that was converted to planes with alpha is handed out as such")
        }
        return try body(.init(bytes: alpha, stride: Int(frame.pointee.linesize.3)))
    }
}
