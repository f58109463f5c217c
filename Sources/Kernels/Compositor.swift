// SPDX-License-Identifier: Apache-2.0

package import Media

/// Combines the frames of several sources into one, and renders transitions between two frames. Only one thread may use
/// a compositor at a time.
///
/// ```swift
/// var compositor = Compositor(VideoFormat.usual)
/// let program = compositor.compose([(camera, .full), (guest, .inset)])
/// ```
package struct Compositor {
    package let format: VideoFormat
    let pool: FramePool
    private let renderer: TransitionRenderer
    private let black: VideoFrame
    private let blackColor: PixelColor
    /// One scaler for each drawn layer, in the order of the layers. A scaler keeps its tables for only one size, so
    /// layers do not share one.
    private var scalers: [Scaler] = []
    /// The parts of the frame that no layer covers.
    private var rest = Uncovered()

    /// Creates a compositor for frames of `format`.
    package init(_ format: VideoFormat) {
        self.format = format
        pool = FramePool(width: format.width, height: format.height)
        renderer = TransitionRenderer(width: format.width, height: format.height)
        blackColor = PixelColor(.black, in: format.color)
        var canvas = pool.canvas()
        canvas.fill(blackColor)
        black = canvas.finish(pts: 0, timeBase: format.frameRate.timeBase)
    }

    /// Composes `layers`, from back to front, on black. A layer without a frame is black. If one layer fills the frame
    /// and no other layer is in front of it, that layer's frame is returned without a copy.
    ///
    /// While the last two layers exchange their order, the result is a mix of both orders. `exchanged`, from 0 to 1, is
    /// the weight of the reverse order, in which the last layer is behind the other one. Neither of the two layers may
    /// then be ``Placement/full``.
    package mutating func compose(
        _ layers: [(frame: VideoFrame?, placement: Placement)], exchanged: Double = 0
    ) -> VideoFrame {
        // Layers behind a layer that fills the frame are not drawn.
        let first = layers.lastIndex { $0.placement == .full } ?? 0
        let isFilled = layers.indices.contains(first) && layers[first].placement == .full
        let back = isFilled ? layers[first].frame ?? black : black
        let front = layers.dropFirst(isFilled ? first + 1 : 0)
        if front.isEmpty { return back }
        var canvas = pool.canvas()
        findRest(front, of: canvas.bounds)
        if isFilled { canvas.copy(back, parts: rest.parts) } else { canvas.fill(rest.parts, with: blackColor) }
        for (index, layer) in front.enumerated() {
            if index == scalers.count { scalers.append(Scaler()) }
            let isOver = exchanged > 0 && index > 0 && index == front.count - 1
            scalers[index].draw(
                layer.frame ?? black, at: layer.placement, on: &canvas,
                over: isOver ? overlap(with: layers[layers.count - 2], opacity: 1 - exchanged) : nil)
        }
        return canvas.finish(pts: back.pts, timeBase: back.timeBase, duration: back.duration)
    }

    /// The region where `layer` shows through the layer in front of it; nil if `layer` covers no pixel.
    private func overlap(with layer: (frame: VideoFrame?, placement: Placement), opacity: Double) -> Overlap? {
        let place = PixelPlacement(layer.placement, of: layer.frame ?? black, program: (format.width, format.height))
        return place.destination.isEmpty ? nil : Overlap(place.outer, radius: place.outerRadius, opacity: opacity)
    }

    private mutating func findRest(
        _ layers: ArraySlice<(frame: VideoFrame?, placement: Placement)>, of bounds: PixelRectangle
    ) {
        rest.begin(bounds)
        for layer in layers {
            let place = PixelPlacement(
                layer.placement, of: layer.frame ?? black, program: (bounds.width, bounds.height))
            if let covered = place.covered { rest.cover(covered) }
        }
    }

    /// Lets `body` draw over `frame`. If nothing else refers to the frame's memory, and the memory belongs to the
    /// compositor's ``pool``, `body` draws in this memory; otherwise it draws on a copy.
    package func draw(over frame: inout VideoFrame?, _ body: (inout Canvas) -> Void) {
        guard let below = frame?.properties else { return }
        var canvas = pool.canvas(taking: &frame)
        body(&canvas)
        frame = canvas.finish(pts: below.pts, timeBase: below.timeBase, duration: below.duration)
        frame?.captions = below.captions
    }

    /// Renders the transition from `a` to `b` at `progress`.
    package func blend(_ a: VideoFrame, _ b: VideoFrame, by transition: Transition, progress: Double) -> VideoFrame {
        var canvas = pool.canvas()
        renderer.render(a, b, transition, progress: progress, into: &canvas)
        return canvas.finish(pts: b.pts, timeBase: b.timeBase, duration: b.duration)
    }
}

extension VideoFrame {
    /// The frame's times and captions.
    fileprivate var properties: (pts: Int64, timeBase: TimeBase, duration: Int64, captions: [UInt8]) {
        (pts, timeBase, duration, captions)
    }
}

extension PixelPlacement {
    /// A rectangle that the placement covers completely: its rows between the rounded corners. Nil if the placement
    /// covers no pixel.
    fileprivate var covered: PixelRectangle? {
        if destination.isEmpty { return nil }
        var covered = outer
        covered.y += outerRadius
        covered.height -= 2 * outerRadius
        return covered
    }
}

/// The part of a rectangle that other rectangles leave uncovered, stored as rectangles that do not overlap. Their
/// memory is reused.
package struct Uncovered {
    /// The uncovered parts.
    package private(set) var parts: [PixelRectangle] = []
    private var former: [PixelRectangle] = []

    /// Creates an object without parts; ``begin(_:)`` must follow.
    package init() {}

    /// Discards all parts, and starts again with the whole rectangle `whole` uncovered.
    package mutating func begin(_ whole: PixelRectangle) {
        parts.removeAll(keepingCapacity: true)
        if !whole.isEmpty { parts.append(whole) }
    }

    /// Removes the area of `cover` from the uncovered parts.
    package mutating func cover(_ cover: PixelRectangle) {
        swap(&parts, &former)
        parts.removeAll(keepingCapacity: true)
        for part in former {
            let common = part.intersection(cover)
            if common.isEmpty {
                parts.append(part)
                continue
            }
            let (right, bottom) = (common.x + common.width, common.y + common.height)
            add(part.x, part.y, part.width, common.y - part.y)
            add(part.x, common.y, common.x - part.x, common.height)
            add(right, common.y, part.x + part.width - right, common.height)
            add(part.x, bottom, part.width, part.y + part.height - bottom)
        }
    }

    private mutating func add(_ x: Int, _ y: Int, _ width: Int, _ height: Int) {
        let part = PixelRectangle(x: x, y: y, width: width, height: height)
        if !part.isEmpty { parts.append(part) }
    }
}
