// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Makes frames of one size out of those of another: all of a frame is seen, with bars where the shapes differ.
///
/// All calls may come from any thread; one frame is scaled at a time.
package final class FrameResizer: Sendable {
    private let placement: Placement
    private let black: PixelColor
    private let pool: FramePool
    private let scaler = Mutex(Scaler())

    /// A resizer of frames like `source` to the size of `target`.
    package init(from source: VideoFormat, to target: VideoFormat) {
        placement = Self.placement(of: source, in: target)
        black = PixelColor(.black, in: target.color)
        pool = FramePool(width: target.width, height: target.height)
    }

    /// `frame` in the other size, with its times and captions.
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

    /// Where `source` lies in `target`. Bars that are no wider than two pixels come of rounding and are not drawn.
    private static func placement(of source: VideoFormat, in target: VideoFormat) -> Placement {
        let place = Placement.Rectangle.all.fitting(aspect: shape(of: source) / shape(of: target))
        let (columns, rows) = (place.width * Double(target.width), place.height * Double(target.height))
        let isFull = Double(target.width) - columns <= 2 && Double(target.height) - rows <= 2
        return isFull ? .full : Placement(destination: place)
    }

    /// Width to height, as a viewer sees it.
    private static func shape(of format: VideoFormat) -> Double {
        let pixel = Double(format.sampleAspectRatio.horizontal) / Double(format.sampleAspectRatio.vertical)
        return Double(format.width) * pixel / Double(format.height)
    }
}

/// A frame in another size, which is made when somebody first asks for it, and once for all who share it.
package final class ResizedFrame: Sendable {
    private let source: VideoFrame
    private let resizer: FrameResizer
    private let made = Mutex<VideoFrame?>(nil)

    /// `source`, to be made by `resizer`.
    package init(_ source: VideoFrame, by resizer: FrameResizer) { (self.source, self.resizer) = (source, resizer) }

    /// The frame. Blocks while it is made.
    package var frame: VideoFrame {
        made.withLock { made in
            let frame = made ?? resizer.resized(source)
            made = frame
            return frame
        }
    }
}
