// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
internal import Media

/// An image as rows of pixels with red, green, blue and alpha, 8 bits each. Colors are not premultiplied by alpha.
package struct PixelImage: Sendable, Equatable {
    /// Limit for the width and height of an image file, in pixels.
    package static let largest = 8192

    package let pixels: [UInt8]
    package let width: Int
    package let height: Int

    /// Reads the first frame of the file at `path`, and scales it to the size that `fit` returns for its original size.
    /// Blocks. An image that is too large is refused before it is decoded.
    package init(file path: String, fit: (_ width: Int, _ height: Int) -> (width: Int, height: Int)) throws(AVFailure) {
        let reader = try AlphaReader(path)
        guard let decoded = try reader.next() else {
            throw AVFailure(operation: "decode", subject: path, code: AVFailure.invalidData)
        }
        let size = fit(decoded.width, decoded.height)
        // Colors are multiplied by alpha before scaling, so that transparent pixels do not bleed into edges.
        let graph = try FilterGraph(
            filters: "format=gbrap,premultiply=inplace=1,scale=\(size.width):\(size.height):flags=area+accurate_rnd,"
                + "format=gbrap,unpremultiply=inplace=1,format=rgba",
            like: decoded, timeBase: reader.timeBase, subject: path)
        decoded.frame.pointee.pts = 0
        try graph.push(decoded)
        try graph.push(nil)
        guard let scaled = try graph.pull() else {
            throw AVFailure(operation: "decode", subject: path, code: AVFailure.invalidData)
        }
        pixels = scaled.packedRows(bytesPerPixel: 4)
        (width, height) = (scaled.width, scaled.height)
    }
}

extension DecodedFrame {
    /// The rows of a frame with one plane, without padding between them.
    func packedRows(bytesPerPixel: Int) -> [UInt8] {
        let count = width * bytesPerPixel
        guard let data = frame.pointee.data.0 else { return [] }
        let stride = Int(frame.pointee.linesize.0)
        return [UInt8](unsafeUninitializedCapacity: count * height) { buffer, filled in
            guard let target = buffer.baseAddress else { return }
            for row in 0..<height { (target + row * count).update(from: data + row * stride, count: count) }
            filled = count * height
        }
    }
}
