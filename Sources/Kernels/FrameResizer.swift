// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Scales frames from one size to another. The whole frame is visible, with bars if the aspect ratios differ.
///
/// Any thread may use it, but only one frame is scaled at a time.
package final class FrameResizer: Sendable {
    private let placement: Placement
    private let black: PixelColor
    private let pool: FramePool
    private let scaler = Mutex(Scaler())

    /// Creates a resizer from frames of format `source` to the size of `target`.
    package init(from source: VideoFormat, to target: VideoFormat) {
        placement = Self.placement(of: source, in: target)
        black = PixelColor(.black, in: target.color)
        pool = FramePool(width: target.width, height: target.height)
    }

    /// Returns `frame` in the target's size, with the same times and captions.
    package func resized(_ frame: VideoFrame) -> VideoFrame {
        scaler.withLock { scaler in
            var canvas = pool.canvas()
            if placement != .full { canvas.fill(black) }
            scaler.draw(frame, at: placement, on: &canvas)
            var resized = canvas.finish(pts: frame.pts, timeBase: frame.timeBase, duration: frame.duration)
            resized.captions = frame.captions
            return resized
        }
    }

    /// The placement of `source` in `target`. Bars of at most two pixels in total result from rounding, and are left
    /// out.
    private static func placement(of source: VideoFormat, in target: VideoFormat) -> Placement {
        let place = Placement.Rectangle.all.fitting(aspect: shape(of: source) / shape(of: target))
        let (columns, rows) = (place.width * Double(target.width), place.height * Double(target.height))
        let isFull = Double(target.width) - columns <= 2 && Double(target.height) - rows <= 2
        return isFull ? .full : Placement(destination: place)
    }

    /// The display aspect ratio of frames of `format`.
    private static func shape(of format: VideoFormat) -> Double {
        let pixel = Double(format.sampleAspectRatio.horizontal) / Double(format.sampleAspectRatio.vertical)
        return Double(format.width) * pixel / Double(format.height)
    }
}

/// A frame in another size. It is rendered when it is requested for the first time, and only once for all users.
package final class ResizedFrame: Sendable {
    private let source: VideoFrame
    private let resizer: FrameResizer
    private let made = Mutex<VideoFrame?>(nil)

    /// Creates a frame that `resizer` makes of `source` when it is requested.
    package init(_ source: VideoFrame, by resizer: FrameResizer) { (self.source, self.resizer) = (source, resizer) }

    /// The resized frame. Blocks while it is rendered.
    package var frame: VideoFrame {
        made.withLock { made in
            let frame = made ?? resizer.resized(source)
            made = frame
            return frame
        }
    }
}
