// SPDX-License-Identifier: Apache-2.0

/// Memory that holds a frame: a ``FrameBuffer``, or a frame of the library that decoded it.
package protocol FrameStorage: AnyObject, Sendable {
    /// Lends the planes for the duration of the call.
    func withPlanes<R>(_ body: (Planes) throws -> R) rethrows -> R
}

/// Memory of a frame with an alpha plane.
package protocol AlphaFrameStorage: FrameStorage {
    /// Lends the alpha plane for the duration of the call. It has the size of the luma plane; 255 is opaque. Colors are
    /// not premultiplied.
    func withAlpha<R>(_ body: (Planes.Plane) throws -> R) rethrows -> R
}

/// The three planes of a 4:2:0 frame, lent for the duration of a call.
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

    /// The planes of a frame.
    package init(y: Plane, u: Plane, v: Plane) {
        self.y = y
        self.u = u
        self.v = v
    }
}
