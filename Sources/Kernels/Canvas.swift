// SPDX-License-Identifier: Apache-2.0

package import Media

/// A frame that is being drawn. A canvas has one owner. ``finish(pts:timeBase:duration:)`` turns it into an immutable
/// frame. If the canvas is released before that, its memory returns to the pool.
package struct Canvas: ~Copyable {
    private let frame: PooledFrame

    init(_ frame: PooledFrame) { self.frame = frame }

    /// Number of luma columns.
    package var width: Int { frame.memory.width }
    /// Number of luma rows.
    package var height: Int { frame.memory.height }

    /// The planes into which kernels draw. They are valid as long as the canvas exists. A kernel may use them only if
    /// it has the canvas as a mutable value.
    var target: TargetPlanes { frame.memory.target }

    /// The whole canvas.
    var bounds: PixelRectangle { PixelRectangle(x: 0, y: 0, width: width, height: height) }

    /// Fills the whole canvas with one color.
    package mutating func fill(_ color: PixelColor) { target.fill(bounds, with: color) }

    /// Fills `parts` with one color. All coordinates are even and inside the canvas.
    mutating func fill(_ parts: [PixelRectangle], with color: PixelColor) {
        for part in parts { target.fill(part, with: color) }
    }

    /// Copies `parts` of a frame of the canvas's size to the same positions. All coordinates are even and inside the
    /// canvas.
    mutating func copy(_ source: VideoFrame, parts: [PixelRectangle]) {
        precondition(source.width == width && source.height == height, "a frame is copied to a canvas of its size")
        let target = target
        source.withPlanes { source in
            for part in parts { target.copy(source, part: part) }
        }
    }

    /// Copies all of `source`, which must have the canvas's size.
    package mutating func copy(_ source: VideoFrame) {
        precondition(source.width == width && source.height == height, "a frame is copied to a canvas of its size")
        let target = target
        source.withPlanes { target.copy($0) }
    }

    /// Ends the drawing, and returns the canvas as an immutable frame with these times.
    package consuming func finish(pts: Int64, timeBase: TimeBase, duration: Int64 = 0) -> VideoFrame {
        VideoFrame(pts: pts, timeBase: timeBase, duration: duration, width: width, height: height, storage: frame)
    }
}
