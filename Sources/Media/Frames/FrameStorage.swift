// SPDX-License-Identifier: Apache-2.0

/// Memory that holds a frame: a ``FrameBuffer``, memory from a pool, or a frame object of the library that decoded the
/// video.
package protocol FrameStorage: AnyObject, Sendable {
    /// Calls `body` with the planes of the frame, which are valid only during the call.
    func withPlanes<R>(_ body: (Planes) throws -> R) rethrows -> R
}

/// Memory of a frame with an alpha plane.
package protocol AlphaFrameStorage: FrameStorage {
    /// Calls `body` with the alpha plane, which is valid only during the call. It has the size of the luma plane; 255
    /// is opaque. Colors are not premultiplied.
    func withAlpha<R>(_ body: (Planes.Plane) throws -> R) rethrows -> R
}

/// The three planes of a 4:2:0 frame. They are valid only during the call that receives them.
package struct Planes {
    /// One plane.
    package struct Plane {
        /// The first row. Rows are ``stride`` bytes apart.
        package let bytes: UnsafeRawPointer
        /// Bytes from one row to the next.
        package let stride: Int

        /// A plane at `bytes`.
        package init(bytes: UnsafeRawPointer, stride: Int) {
            self.bytes = bytes
            self.stride = stride
        }
    }

    /// Luma.
    package let y: Plane
    /// Blue difference, half as wide and half as high.
    package let u: Plane
    /// Red difference, half as wide and half as high.
    package let v: Plane

    package init(y: Plane, u: Plane, v: Plane) {
        self.y = y
        self.u = u
        self.v = v
    }
}

/// A 4:2:0 frame in memory that relay allocates, with the three planes packed one after the other.
///
/// The closure passed to the initializer draws into the buffer; from then on the buffer is immutable.
package final class FrameBuffer: FrameStorage {
    private let bytes: SharedBytes
    private let width: Int
    private let height: Int

    /// Creates a frame of `width` by `height` (both even). `draw` fills it: luma first, then the two chroma planes,
    /// without padding between rows.
    package init(width: Int, height: Int, draw: (UnsafeMutableRawBufferPointer) throws -> Void) rethrows {
        precondition(width % 2 == 0 && height % 2 == 0, "4:2:0 needs even sizes")
        self.width = width
        self.height = height
        bytes = try SharedBytes(count: width * height * 3 / 2, fill: draw)
    }

    package func withPlanes<R>(_ body: (Planes) throws -> R) rethrows -> R {
        try bytes.withUnsafeBytes { (buffer) throws -> R in
            guard let base = buffer.baseAddress else { preconditionFailure("a frame has pixels") }
            let luma = width * height
            let chroma = luma / 4
            return try body(
                Planes(
                    y: .init(bytes: base, stride: width), u: .init(bytes: base + luma, stride: width / 2),
                    v: .init(bytes: base + luma + chroma, stride: width / 2)))
        }
    }
}
