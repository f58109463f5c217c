// SPDX-License-Identifier: Apache-2.0

package import Media

/// Draws transitions between frames of one size. The result depends only on the two frames, the transition and the
/// progress. The renderer has temporary memory, so only one thread may use it at a time.
///
/// The initializer computes the noise of ``Transition/Kind/dissolve``, which takes longer than the duration of a frame.
/// So create the renderer before the program runs, or on another thread.
package final class TransitionRenderer {
    let width: Int
    let height: Int
    let noise: DissolveNoise
    let lumaX = AxisTable()
    let lumaY = AxisTable()
    let chromaX = AxisTable()
    let chromaY = AxisTable()
    let rows = Scratch<UInt8>()
    let sums = Scratch<UInt16>()
    let levels = (Scratch<UInt8>(), Scratch<UInt8>())

    /// Creates a renderer for frames of this size; both numbers are even.
    package init(width: Int, height: Int) {
        precondition(width > 0 && height > 0 && width % 2 == 0 && height % 2 == 0, "4:2:0 needs even sizes")
        (self.width, self.height) = (width, height)
        noise = DissolveNoise(width: width, height: height)
    }

    /// Draws the frame at `progress` between `a` and `b`: at 0 it is `a` itself, at 1 `b`. The caller applies the
    /// easing. From call to call, the progress may also decrease or stay the same.
    package func render(
        _ a: VideoFrame, _ b: VideoFrame, _ transition: Transition, progress: Double, into canvas: inout Canvas
    ) {
        precondition(canvas.width == width && canvas.height == height, "a transition is drawn on a canvas of its size")
        guard progress > 0 else { return canvas.copy(a) }
        guard progress < 1, transition.kind != .cut else { return canvas.copy(b) }
        precondition(
            a.width == width && a.height == height && b.width == width && b.height == height,
            "a transition is between frames of its size")
        let target = canvas.target
        a.withPlanes { a in
            b.withPlanes { b in draw(a, b, transition, progress, target) }
        }
    }

    private func draw(
        _ a: SourcePlanes, _ b: SourcePlanes, _ transition: Transition, _ progress: Double, _ target: TargetPlanes
    ) {
        let color = transition.color
        switch transition.kind {
        case .cut: target.copy(b)
        case .fade, .move: target.forEach(a, b) { $0.fade($1, $2, weight: Self.weight(progress)) }
        case .dissolve: noise.draw(a, b, progress, target)
        case .slideLeft: Motion.left.slide(a, b, progress, target)
        case .slideRight: Motion.right.slide(a, b, progress, target)
        case .slideUp: Motion.up.slide(a, b, progress, target)
        case .slideDown: Motion.down.slide(a, b, progress, target)
        case .pushLeft: Motion.left.push(a, b, progress, target)
        case .pushRight: Motion.right.push(a, b, progress, target)
        case .pushUp: Motion.up.push(a, b, progress, target)
        case .pushDown: Motion.down.push(a, b, progress, target)
        case .wipeLeft: Motion.left.wipe(a, b, progress, target)
        case .wipeRight: Motion.right.wipe(a, b, progress, target)
        case .wipeUp: Motion.up.wipe(a, b, progress, target)
        case .wipeDown: Motion.down.wipe(a, b, progress, target)
        case .zoomIn: zoom(a, b, progress, target)
        case .zoomOut: zoom(b, a, 1 - progress, target)
        case .flipHorizontal: flipHorizontally(a, b, progress, before: color, target)
        case .flipVertical: flipVertically(a, b, progress, before: color, target)
        case .circle: circle(a, b, progress, target)
        case .blur: blur(a, b, progress, target)
        case .dip: dip(a, b, progress, color, target)
        }
    }

    /// Converts a fraction from 0 to 1 to a weight in parts of 256.
    static func weight(_ fraction: Double) -> UInt16 { UInt16((min(1, max(0, fraction)) * 256).rounded()) }
}
