// SPDX-License-Identifier: Apache-2.0

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

/// Memory that holds a frame: a buffer of our own, or a frame of the library that decoded it.
public protocol FrameStorage: AnyObject, Sendable {
    /// Lends the planes for the length of the call.
    func withPlanes<R>(_ body: (Planes) throws -> R) rethrows -> R
}

/// One immutable raw frame, shared by whoever shows it.
public struct VideoFrame: Sendable {
    /// Presentation time in ticks of ``timeBase``, on the timeline of whoever made the frame.
    public var pts: Int64
    /// The time base of ``pts`` and ``duration``.
    public var timeBase: TimeBase
    /// How long the frame is shown if none follows; 0 if nobody knows.
    public var duration: Int64
    /// Luma columns.
    public let width: Int
    /// Luma rows.
    public let height: Int
    /// The pixels.
    public let storage: any FrameStorage

    /// A frame of these properties.
    public init(
        pts: Int64, timeBase: TimeBase, duration: Int64 = 0, width: Int, height: Int, storage: any FrameStorage
    ) {
        self.pts = pts
        self.duration = duration
        self.timeBase = timeBase
        self.width = width
        self.height = height
        self.storage = storage
    }
}
