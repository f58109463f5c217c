// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Makes one frame of those of several sources, and of two frames one between them. Of one thread at a time.
struct Compositor {
    let format: VideoFormat
    private let pool: FramePool
    private let renderer: TransitionRenderer
    private let black: VideoFrame
    /// One for each place in a scene's order, since each keeps what it computed for a size.
    private var scalers: [Scaler] = []

    /// A compositor of frames of `format`.
    init(_ format: VideoFormat) {
        self.format = format
        pool = FramePool(width: format.width, height: format.height)
        renderer = TransitionRenderer(width: format.width, height: format.height)
        var canvas = pool.canvas()
        canvas.fill(PixelColor(.black, in: format.color))
        black = canvas.finish(pts: 0, timeBase: format.frameRate.timeBase)
    }

    /// The frame that shows `layers`, from the back to the front; black where there is nothing. One that fills the frame is
    /// that frame itself, without a copy.
    mutating func compose(_ layers: [(frame: VideoFrame?, placement: Placement)]) -> VideoFrame {
        // What is behind a layer that fills the frame is not drawn.
        let first = layers.lastIndex { $0.placement == .full } ?? 0
        let isFilled = layers.indices.contains(first) && layers[first].placement == .full
        let back = isFilled ? layers[first].frame ?? black : black
        let front = layers.dropFirst(isFilled ? first + 1 : 0)
        if front.isEmpty { return back }
        var canvas = pool.canvas(showing: back)
        for (index, layer) in front.enumerated() {
            if index == scalers.count { scalers.append(Scaler()) }
            scalers[index].draw(layer.frame ?? black, at: layer.placement, on: &canvas)
        }
        return canvas.finish(pts: back.pts, timeBase: back.timeBase, duration: back.duration)
    }

    /// `frame` with what `body` draws over it.
    func draw(over frame: VideoFrame, _ body: (inout Canvas) -> Void) -> VideoFrame {
        var canvas = pool.canvas(showing: frame)
        body(&canvas)
        var drawn = canvas.finish(pts: frame.pts, timeBase: frame.timeBase, duration: frame.duration)
        drawn.captions = frame.captions
        return drawn
    }

    /// The frame at `progress` of the way from `a` to `b`.
    func blend(_ a: VideoFrame, _ b: VideoFrame, by transition: Transition, progress: Double) -> VideoFrame {
        var canvas = pool.canvas()
        renderer.render(a, b, transition, progress: progress, into: &canvas)
        return canvas.finish(pts: b.pts, timeBase: b.timeBase, duration: b.duration)
    }
}
