// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// A rectangle of pixels in a plane or a frame. It may extend beyond the plane.
package struct PixelRectangle: Sendable, Equatable {
    /// The left edge.
    package var x: Int
    /// The upper edge.
    package var y: Int
    /// The width.
    package var width: Int
    /// The height.
    package var height: Int

    package init(x: Int, y: Int, width: Int, height: Int) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
    }

    /// Whether the rectangle contains no pixel.
    package var isEmpty: Bool { width <= 0 || height <= 0 }

    /// The intersection with `other`.
    package func intersection(_ other: PixelRectangle) -> PixelRectangle {
        let (left, top) = (max(x, other.x), max(y, other.y))
        return PixelRectangle(
            x: left, y: top, width: max(0, min(x + width, other.x + other.width) - left),
            height: max(0, min(y + height, other.y + other.height) - top))
    }

    /// This rectangle with its edges moved outwards by `margin`.
    func grown(by margin: Int) -> PixelRectangle {
        PixelRectangle(x: x - margin, y: y - margin, width: width + 2 * margin, height: height + 2 * margin)
    }

    /// The same rectangle in a chroma plane. All numbers must be even.
    var halved: PixelRectangle { PixelRectangle(x: x / 2, y: y / 2, width: width / 2, height: height / 2) }
}

/// A plane, or a part of a plane, from which a kernel reads. The function that lends the plane says how long it is
/// valid.
struct SourcePlane {
    let bytes: UnsafePointer<UInt8>
    let stride: Int
    let width: Int
    let height: Int

    init(bytes: UnsafePointer<UInt8>, stride: Int, width: Int, height: Int) {
        (self.bytes, self.stride) = (bytes, stride)
        (self.width, self.height) = (width, height)
    }

    init(_ plane: Planes.Plane, width: Int, height: Int) {
        self.init(
            bytes: plane.bytes.assumingMemoryBound(to: UInt8.self), stride: plane.stride, width: width, height: height)
    }

    func row(_ y: Int) -> UnsafePointer<UInt8> { bytes + y &* stride }

    /// The part of the plane in `rectangle`, which must be inside the plane.
    func cropped(to rectangle: PixelRectangle) -> SourcePlane {
        SourcePlane(
            bytes: row(rectangle.y) + rectangle.x, stride: stride, width: rectangle.width, height: rectangle.height)
    }
}

/// A plane, or a part of a plane, into which a kernel draws.
struct TargetPlane {
    let bytes: UnsafeMutablePointer<UInt8>
    let stride: Int
    let width: Int
    let height: Int

    func row(_ y: Int) -> UnsafeMutablePointer<UInt8> { bytes + y &* stride }

    var bounds: PixelRectangle { PixelRectangle(x: 0, y: 0, width: width, height: height) }

    /// The same plane for reading.
    var source: SourcePlane { SourcePlane(bytes: bytes, stride: stride, width: width, height: height) }

    /// Fills `rectangle`, which must be inside the plane, with `value`.
    func fill(_ rectangle: PixelRectangle, with value: UInt8) {
        guard !rectangle.isEmpty else { return }
        for y in rectangle.y..<rectangle.y + rectangle.height {
            memset(row(y) + rectangle.x, Int32(value), rectangle.width)
        }
    }

    /// Copies the rectangle `part` of `source` to (x, y). Both are inside their planes.
    func copy(_ source: SourcePlane, part: PixelRectangle, toX x: Int, y: Int) {
        guard !part.isEmpty else { return }
        if stride == source.stride, part.width == width, part.width == source.width {
            memcpy(row(y), source.row(part.y), (part.height - 1) * stride + width)
            return
        }
        for line in 0..<part.height {
            memcpy(row(y + line) + x, source.row(part.y + line) + part.x, part.width)
        }
    }

    /// Copies all of `source`, which must have the same size.
    func copy(_ source: SourcePlane) { copy(source, part: bounds, toX: 0, y: 0) }

    /// Mixes `count` samples of `a` and `b`. `weight` is the weight of `b`, in parts of 256.
    static func mix(
        _ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>, weight: UInt16, count: Int,
        into target: UnsafeMutablePointer<UInt8>
    ) {
        let rest = 256 &- weight
        for x in 0..<count {
            let sum = UInt16(a[x]) &* rest &+ UInt16(b[x]) &* weight &+ 128
            target[x] = UInt8(truncatingIfNeeded: sum &>> 8)
        }
    }

    /// Mixes `count` samples of `a` and `b`. The weight of `b` is `eighths` eighths, from 1 to 7. The loop averages two
    /// values three times. Each average is one processor instruction, which rounds up.
    static func mix(
        _ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>, eighths: UInt16, count: Int,
        into target: UnsafeMutablePointer<UInt8>
    ) {
        let (eighth, quarter) = (eighths & 1 == 0 ? a : b, eighths & 2 == 0 ? a : b)
        let half = eighths & 4 == 0 ? a : b
        for x in 0..<count {
            let first = UInt8(truncatingIfNeeded: (UInt16(a[x]) &+ UInt16(eighth[x]) &+ 1) &>> 1)
            let second = UInt8(truncatingIfNeeded: (UInt16(first) &+ UInt16(quarter[x]) &+ 1) &>> 1)
            target[x] = UInt8(truncatingIfNeeded: (UInt16(second) &+ UInt16(half[x]) &+ 1) &>> 1)
        }
    }

    /// Mixes `count` samples of `a` with `value`. `weight` is the weight of `value`, in parts of 256.
    static func mix(
        _ a: UnsafePointer<UInt8>, with value: UInt8, weight: UInt16, count: Int,
        into target: UnsafeMutablePointer<UInt8>
    ) {
        let rest = 256 &- weight
        let part = UInt16(value) &* weight &+ 128
        for x in 0..<count { target[x] = UInt8(truncatingIfNeeded: (UInt16(a[x]) &* rest &+ part) &>> 8) }
    }

    /// Mixes `count` samples of `samples` into `target`. `weight` is the weight of `samples`, in parts of 256.
    static func mix(
        _ samples: UnsafePointer<UInt8>, weight: UInt16, count: Int, over target: UnsafeMutablePointer<UInt8>
    ) {
        let rest = 256 &- weight
        for x in 0..<count {
            let sum = UInt16(target[x]) &* rest &+ UInt16(samples[x]) &* weight &+ 128
            target[x] = UInt8(truncatingIfNeeded: sum &>> 8)
        }
    }
}

/// The three planes of a frame from which a kernel reads.
struct SourcePlanes {
    let y: SourcePlane
    let u: SourcePlane
    let v: SourcePlane
}

/// The three planes of a frame into which a kernel draws.
struct TargetPlanes {
    let y: TargetPlane
    let u: TargetPlane
    let v: TargetPlane

    /// The same planes for reading.
    var source: SourcePlanes { SourcePlanes(y: y.source, u: u.source, v: v.source) }

    /// Calls `body` with each of these planes and the corresponding planes of `a` and `b`, luma first.
    func forEach(_ a: SourcePlanes, _ b: SourcePlanes, _ body: (TargetPlane, SourcePlane, SourcePlane) -> Void) {
        body(y, a.y, b.y)
        body(u, a.u, b.u)
        body(v, a.v, b.v)
    }

    /// Copies all of `source`, which must have the same size.
    func copy(_ source: SourcePlanes) {
        y.copy(source.y)
        u.copy(source.u)
        v.copy(source.v)
    }

    /// Copies `part` of `source`, which has the same size, to the same position. The coordinates of `part` are even and
    /// inside the frame.
    func copy(_ source: SourcePlanes, part: PixelRectangle) {
        let half = part.halved
        y.copy(source.y, part: part, toX: part.x, y: part.y)
        u.copy(source.u, part: half, toX: half.x, y: half.y)
        v.copy(source.v, part: half, toX: half.x, y: half.y)
    }

    /// Fills `rectangle` with `color`. Its coordinates are even and inside the frame.
    func fill(_ rectangle: PixelRectangle, with color: PixelColor) {
        y.fill(rectangle, with: color.y)
        u.fill(rectangle.halved, with: color.u)
        v.fill(rectangle.halved, with: color.v)
    }
}

extension VideoFrame {
    /// Passes the frame's planes to `body`. They are valid only during the call.
    func withPlanes<R>(_ body: (SourcePlanes) -> R) -> R {
        withExtendedLifetime(storage) {
            storage.withPlanes { planes in
                body(
                    SourcePlanes(
                        y: SourcePlane(planes.y, width: width, height: height),
                        u: SourcePlane(planes.u, width: width / 2, height: height / 2),
                        v: SourcePlane(planes.v, width: width / 2, height: height / 2)))
            }
        }
    }
}
