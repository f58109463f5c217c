// SPDX-License-Identifier: Apache-2.0

/// Memory that holds a frame: a buffer of our own, or a frame of the library that decoded it.
public protocol FrameStorage: AnyObject, Sendable {
    /// Lends the planes for the length of the call.
    func withPlanes<R>(_ body: (Planes) throws -> R) rethrows -> R
}

/// Memory of a frame that says of each of its pixels how opaque it is.
public protocol AlphaFrameStorage: FrameStorage {
    /// Lends the plane of luma's size whose 255 is opaque, for the length of the call. Colors are not multiplied by it.
    func withAlpha<R>(_ body: (Planes.Plane) throws -> R) rethrows -> R
}

/// The three planes of a 4:2:0 frame, lent for the length of a call.
public struct Planes {
    /// One plane.
    public struct Plane {
        /// The first row. Rows are ``stride`` bytes apart.
        public let bytes: UnsafeRawPointer
        /// Bytes from one row to the next.
        public let stride: Int

        /// A plane at `bytes`.
        public init(bytes: UnsafeRawPointer, stride: Int) {
            self.bytes = bytes
            self.stride = stride
        }
    }

    /// Luma.
    public let y: Plane
    /// Blue difference, half as wide and half as high.
    public let u: Plane
    /// Red difference, half as wide and half as high.
    public let v: Plane

    /// The planes of a frame.
    public init(y: Plane, u: Plane, v: Plane) {
        self.y = y
        self.u = u
        self.v = v
    }
}
