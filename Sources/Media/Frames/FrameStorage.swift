// SPDX-License-Identifier: Apache-2.0

/// Memory that holds a frame: a buffer of our own, or a frame of the library that decoded it.
package protocol FrameStorage: AnyObject, Sendable {
    /// Lends the planes for the length of the call.
    func withPlanes<R>(_ body: (Planes) throws -> R) rethrows -> R
}

/// Memory of a frame that says of each of its pixels how opaque it is.
package protocol AlphaFrameStorage: FrameStorage {
    /// Lends the plane of luma's size whose 255 is opaque, for the length of the call. Colors are not multiplied by it.
    func withAlpha<R>(_ body: (Planes.Plane) throws -> R) rethrows -> R
}

/// The three planes of a 4:2:0 frame, lent for the length of a call.
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
