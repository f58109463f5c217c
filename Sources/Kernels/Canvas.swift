// SPDX-License-Identifier: Apache-2.0

package import Media

/// A frame that is being drawn. It has one holder, and ends by becoming a frame that cannot be changed; if it is
/// released before, it returns to its pool.
package struct Canvas: ~Copyable {
    private let frame: PooledFrame

    init(_ frame: PooledFrame) { self.frame = frame }

    /// Luma columns.
    package var width: Int { frame.memory.width }
    /// Luma rows.
    package var height: Int { frame.memory.height }

    /// The planes to draw into, valid as long as the canvas is. Kernels take them from a canvas that they may change.
    var target: TargetPlanes { frame.memory.target }

    /// All of it.
    var bounds: PixelRectangle { PixelRectangle(x: 0, y: 0, width: width, height: height) }

    /// Makes all of it one color.
    package mutating func fill(_ color: PixelColor) { target.fill(bounds, with: color) }

    /// Makes `parts` of it, whose numbers are even and which lie inside, one color.
    mutating func fill(_ parts: [PixelRectangle], with color: PixelColor) {
        for part in parts { target.fill(part, with: color) }
    }

    /// Copies `parts`, whose numbers are even and which lie inside, of a frame of the same size.
    mutating func copy(_ source: VideoFrame, parts: [PixelRectangle]) {
        precondition(source.width == width && source.height == height, "a frame is copied to a canvas of its size")
        let target = target
        source.withPlanes { source in
            for part in parts { target.copy(source, part: part) }
        }
    }

    /// Copies a frame of the same size.
    package mutating func copy(_ source: VideoFrame) {
        precondition(source.width == width && source.height == height, "a frame is copied to a canvas of its size")
        let target = target
        source.withPlanes { target.copy($0) }
    }

    /// The frame, from now on immutable, with these times.
    package consuming func finish(pts: Int64, timeBase: TimeBase, duration: Int64 = 0) -> VideoFrame {
        VideoFrame(pts: pts, timeBase: timeBase, duration: duration, width: width, height: height, storage: frame)
    }
}
