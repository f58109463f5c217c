// SPDX-License-Identifier: Apache-2.0

internal import Glibc
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

// MARK: Fades

extension TargetPlane {
    /// Mixes `a` and `b`. `weight` is the weight of `b`, in parts of 256.
    func fade(_ a: SourcePlane, _ b: SourcePlane, weight: UInt16) {
        for y in 0..<height { Self.mix(a.row(y), b.row(y), weight: weight, count: width, into: row(y)) }
    }

    /// Mixes `a` with `value`. `weight` is the weight of `value`, in parts of 256.
    func fade(_ a: SourcePlane, to value: UInt8, weight: UInt16) {
        for y in 0..<height { Self.mix(a.row(y), with: value, weight: weight, count: width, into: row(y)) }
    }
}

extension TransitionRenderer {
    /// Fades `a` to `color` in the first half, and `color` to `b` in the second.
    fileprivate func dip(
        _ a: SourcePlanes, _ b: SourcePlanes, _ progress: Double, _ color: PixelColor, _ target: TargetPlanes
    ) {
        let weight = Self.weight(1 - abs(1 - 2 * progress))
        let shown = progress < 0.5 ? a : b
        target.y.fade(shown.y, to: color.y, weight: weight)
        target.u.fade(shown.u, to: color.u, weight: weight)
        target.v.fade(shown.v, to: color.v, weight: weight)
    }
}

// MARK: The circle

extension TransitionRenderer {
    /// `b` appears within a centered circle, whose radius grows with the progress. The circle's edge is blurred over
    /// one pixel.
    fileprivate func circle(_ a: SourcePlanes, _ b: SourcePlanes, _ progress: Double, _ target: TargetPlanes) {
        // At progress 1 the circle, with its blurred edge, reaches beyond the corners of the frame.
        let whole = (Double(width * width + height * height)).squareRoot() / 2 + 1
        let radius = progress * whole
        target.forEach(a, b) { plane, a, b in
            let scale = Double(plane.width) / Double(width)
            for y in 0..<plane.height {
                Self.circleRow(a.row(y), b.row(y), y, radius * scale, plane.width, plane.height, into: plane.row(y))
            }
        }
    }

    private static func circleRow(
        _ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>, _ y: Int, _ radius: Double, _ width: Int, _ height: Int,
        into target: UnsafeMutablePointer<UInt8>
    ) {
        let (middle, dy) = (Double(width) / 2, Double(y) + 0.5 - Double(height) / 2)
        /// Half the length of the part of the row that is inside a circle of this radius.
        func half(_ radius: Double) -> Double { radius <= abs(dy) ? 0 : (radius * radius - dy * dy).squareRoot() }
        let (outer, inner) = (half(radius + 0.5), half(max(0, radius - 0.5)))
        let first = max(0, Int(middle - outer))
        let last = min(width, Int((middle + outer).rounded(.up)))
        // The pixels from `full` to `end` have their centers inside the circle whose radius is half a pixel smaller.
        let full = inner == 0 ? 0 : min(width, max(0, Int((middle - inner).rounded(.up))))
        let end = inner == 0 ? 0 : max(full, min(width, Int(middle + inner)))
        memcpy(target, a, first)
        memcpy(target + last, a + last, width - last)
        func soft(_ range: Range<Int>) {
            for x in range {
                let dx = Double(x) + 0.5 - middle
                let covered = radius - (dx * dx + dy * dy).squareRoot() + 0.5
                let weight = UInt32(min(1, max(0, covered)) * 256)
                let value = UInt32(a[x]) * (256 - weight) + UInt32(b[x]) * weight + 128
                target[x] = UInt8(truncatingIfNeeded: value >> 8)
            }
        }
        guard full < end else { return soft(first..<last) }
        soft(first..<full)
        memcpy(target + full, b + full, end - full)
        soft(end..<last)
    }
}

// MARK: The zoom

extension TransitionRenderer {
    /// The factor by which `a` is enlarged at progress 1.
    private static let enlargement = 4.0
    /// The progress at which `b` begins to fade in.
    private static let fadeStart = 0.25

    /// `a` grows from its center at a constant rate of enlargement, and fades to `b`.
    fileprivate func zoom(_ a: SourcePlanes, _ b: SourcePlanes, _ progress: Double, _ target: TargetPlanes) {
        let scale = pow(Self.enlargement, progress)
        let weight = Self.weight((progress - Self.fadeStart) / (1 - Self.fadeStart))
        prepare(lumaX, width, scale)
        prepare(lumaY, height, scale)
        prepare(chromaX, width / 2, scale)
        prepare(chromaY, height / 2, scale)
        enlarge(a.y, b.y, weight, lumaX, lumaY, into: target.y)
        enlarge(a.u, b.u, weight, chromaX, chromaY, into: target.u)
        enlarge(a.v, b.v, weight, chromaX, chromaY, into: target.v)
    }

    /// Prepares the table for the middle of `count` samples, enlarged by `scale`.
    private func prepare(_ table: AxisTable, _ count: Int, _ scale: Double) {
        let length = Double(count) / scale
        table.prepare(
            .init(
                count: count, start: (Double(count) - length) / 2, length: length, target: count, first: 0,
                visible: count, isLinear: true))
    }

    /// Enlarges `a` and mixes it with `b`. `weight` is the weight of `b`, in parts of 256. Each row of `a` is enlarged
    /// horizontally only once; then neighboring rows are mixed.
    private func enlarge(
        _ a: SourcePlane, _ b: SourcePlane, _ weight: UInt16, _ tableX: AxisTable, _ tableY: AxisTable,
        into target: TargetPlane
    ) {
        let base = rows.reserve(2 * target.width)
        var (upper, lower) = (base, base + target.width)
        // The indices of the source rows that `upper` and `lower` contain; -1 if they contain none.
        var (above, below) = (-1, -1)
        for y in 0..<target.height {
            let (row, part) = tableY.pair(y)
            let next = min(row + 1, a.height - 1)
            if row == below {
                swap(&upper, &lower)
                swap(&above, &below)
            }
            if row != above { tableX.scale(a.row(row), into: upper) }
            if next != below { tableX.scale(a.row(next), into: lower) }
            (above, below) = (row, next)
            Self.mix(upper, lower, part, b.row(y), weight, target.width, into: target.row(y))
        }
    }

    private static func mix(
        _ upper: UnsafePointer<UInt8>, _ lower: UnsafePointer<UInt8>, _ part: UInt16, _ b: UnsafePointer<UInt8>,
        _ weight: UInt16, _ count: Int, into target: UnsafeMutablePointer<UInt8>
    ) {
        guard weight > 0 else { return TargetPlane.mix(upper, lower, weight: part, count: count, into: target) }
        let (rest, remaining) = (256 &- part, 256 &- weight)
        for x in 0..<count {
            let a = (UInt16(upper[x]) &* rest &+ UInt16(lower[x]) &* part &+ 128) &>> 8
            let sum = a &* remaining &+ UInt16(b[x]) &* weight &+ 128
            target[x] = UInt8(truncatingIfNeeded: sum &>> 8)
        }
    }
}
