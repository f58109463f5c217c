// SPDX-License-Identifier: Apache-2.0

import Foundation
import FrameSamples
import Media
import Testing

@testable import Kernels

@Suite("Transitions")
struct TransitionTests {
    private static let (width, height) = (96, 54)
    private let a = PlainFrame(width: width, height: height, seed: 1)
    private let b = PlainFrame(width: width, height: height, seed: 2)
    private let color = PixelColor(y: 60, u: 200, v: 100)
    private let pool = FramePool(width: width, height: height)
    private let renderer = TransitionRenderer(width: width, height: height)
    private let steps = [0.0, 0.1, 0.25, 0.4, 0.5, 0.75, 0.9, 1]

    private func render(_ kind: Transition.Kind, _ progress: Double) -> PlainFrame {
        var canvas = pool.canvas()
        // No earlier pixel may remain.
        canvas.fill(PixelColor(y: 255, u: 255, v: 255))
        renderer.render(
            a.frame, b.frame(in: pool), Transition(kind, color: color), progress: progress, into: &canvas)
        return PlainFrame(canvas.finish(pts: 0, timeBase: .milliseconds))
    }

    /// Compares with a reference, which receives the plane, a, b, the color's sample and the progress.
    private func check(
        _ kind: Transition.Kind, tolerance: Int,
        _ reference: (_ a: PlainPlane, _ b: PlainPlane, _ color: UInt8, _ progress: Double) -> PlainPlane
    ) {
        for progress in steps {
            let frame = render(kind, progress)
            for index in 0..<3 {
                let expected = reference(
                    a.planes[index], b.planes[index], [color.y, color.u, color.v][index], progress)
                let difference = frame.planes[index].difference(expected)
                #expect(difference <= tolerance, "\(kind) at \(progress), plane \(index)")
            }
        }
    }

    @Test(
        "Each transition shows the first frame at progress 0 and the second frame at progress 1",
        arguments: Transition.Kind.allCases)
    func ends(kind: Transition.Kind) {
        #expect(render(kind, 0) == a)
        #expect(render(kind, 1) == b)
        #expect(render(kind, -1) == a)
        #expect(render(kind, 2) == b)
    }

    @Test("Each transition except the cut begins and ends without a jump", arguments: Transition.Kind.allCases)
    func continues(kind: Transition.Kind) {
        guard kind != .cut else { return }
        // Each of the two frames has only one color, so that a thousandth of the transition changes every pixel only a
        // little.
        let flat = [UInt8(40), 200].map {
            PlainFrame(width: Self.width, height: Self.height, PixelColor(y: $0, u: $0, v: $0))
        }
        for (progress, near) in [(0.001, flat[0]), (0.999, flat[1])] {
            var canvas = pool.canvas()
            renderer.render(
                flat[0].frame, flat[1].frame, Transition(kind, color: color), progress: progress, into: &canvas)
            let frame = PlainFrame(canvas.finish(pts: 0, timeBase: .milliseconds))
            let changed = zip(frame.y.samples, near.y.samples).filter { abs(Int($0) - Int($1)) > 2 }.count
            #expect(changed <= Self.width * Self.height / 40, "\(kind) at \(progress)")
        }
    }

    @Test(
        "Each transition also works if half of the frame's width or height is odd, down to the smallest size",
        arguments: [(2, 2), (6, 2), (2, 10), (18, 14)])
    func smallSizes(width: Int, height: Int) {
        let (a, b) = (
            PlainFrame(width: width, height: height, seed: 1), PlainFrame(width: width, height: height, seed: 2)
        )
        let pool = FramePool(width: width, height: height)
        let renderer = TransitionRenderer(width: width, height: height)
        for kind in Transition.Kind.allCases {
            for step in 0...16 {
                var canvas = pool.canvas()
                renderer.render(a.frame, b.frame, Transition(kind), progress: Double(step) / 16, into: &canvas)
                let frame = PlainFrame(canvas.finish(pts: 0, timeBase: .milliseconds))
                if step == 0 { #expect(frame == a) }
                if step == 16 { #expect(frame == b) }
            }
        }
    }

    @Test("A fade is the linear mix of both frames")
    func fade() {
        check(.fade, tolerance: 1) { a, b, _, p in
            PlainPlane(width: a.width, height: a.height) { x, y in
                sample(Double(a[x, y]) * (1 - p) + Double(b[x, y]) * p)
            }
        }
    }

    @Test("A dip fades from the first frame to the color, and from the color to the second frame")
    func dip() {
        check(.dip, tolerance: 1) { a, b, color, p in
            let (shown, weight) = p < 0.5 ? (a, 2 * p) : (b, 2 - 2 * p)
            return PlainPlane(width: a.width, height: a.height) { x, y in
                sample(Double(shown[x, y]) * (1 - weight) + Double(color) * weight)
            }
        }
    }

    @Test("In a dissolve each pixel changes once, and chroma is mixed by how many of its four pixels have changed")
    func dissolve() {
        func isNew(_ x: Int, _ y: Int, _ progress: Double) -> Bool {
            let noise = sinf(Float(x) * 12.9898 + Float(y) * 78.233) * 43758.545
            return Double(noise - noise.rounded(.down)) < (progress * 256).rounded() / 256
        }
        check(.dissolve, tolerance: 1) { a, b, _, p in
            PlainPlane(width: a.width, height: a.height) { x, y in
                if a.width == Self.width { return isNew(x, y, p) ? b[x, y] : a[x, y] }
                let count = [(0, 0), (1, 0), (0, 1), (1, 1)].count { isNew(2 * x + $0.0, 2 * y + $0.1, p) }
                return sample(Double(a[x, y]) * Double(4 - count) / 4 + Double(b[x, y]) * Double(count) / 4)
            }
        }
    }

    private static let motions: [(kind: Transition.Kind, dx: Int, dy: Int, movesA: Bool, movesB: Bool)] = [
        (.slideLeft, -1, 0, false, true), (.slideRight, 1, 0, false, true), (.slideUp, 0, -1, false, true),
        (.slideDown, 0, 1, false, true), (.pushLeft, -1, 0, true, true), (.pushRight, 1, 0, true, true),
        (.pushUp, 0, -1, true, true), (.pushDown, 0, 1, true, true), (.wipeLeft, -1, 0, false, false),
        (.wipeRight, 1, 0, false, false), (.wipeUp, 0, -1, false, false), (.wipeDown, 0, 1, false, false),
    ]

    @Test(
        "In slides, pushes and wipes the expected frame moves in the expected direction",
        arguments: 0..<motions.count)
    func motion(index: Int) {
        let motion = Self.motions[index]
        check(motion.kind, tolerance: 0) { a, b, _, p in
            let length = motion.dx != 0 ? a.width : a.height
            let scale = a.width == Self.width ? 2.0 : 1
            let shown = Int((p * Double(length) / scale).rounded() * scale)
            // The distance of the moving frame from its end position, and the distance that it has moved.
            let (left, gone) = (length - shown, shown)
            return PlainPlane(width: a.width, height: a.height) { x, y in
                let along = motion.dx != 0 ? x : y
                let isB = motion.dx + motion.dy > 0 ? along < shown : along >= length - shown
                let moves = isB ? motion.movesB : motion.movesA
                let shift = moves ? (isB ? left : -gone) : 0
                return (isB ? b : a)[x + shift * motion.dx, y + shift * motion.dy]
            }
        }
    }

    private func zoomed(_ a: PlainPlane, _ b: PlainPlane, _ p: Double) -> PlainPlane {
        let scale = pow(4, p)
        let weight = min(1, max(0, (p - 0.25) / 0.75))
        return PlainPlane(width: a.width, height: a.height) { x, y in
            let (w, h) = (Double(a.width) / 2, Double(a.height) / 2)
            let value = a.interpolated(w + (Double(x) + 0.5 - w) / scale, h + (Double(y) + 0.5 - h) / scale)
            return sample(value * (1 - weight) + Double(b[x, y]) * weight)
        }
    }

    @Test("A zoom in enlarges one frame about its center and mixes in the other, and a zoom out is the reverse")
    func zoom() {
        check(.zoomIn, tolerance: 1) { a, b, _, p in zoomed(a, b, p) }
        check(.zoomOut, tolerance: 1) { a, b, _, p in zoomed(b, a, 1 - p) }
    }

    /// The visible columns (or rows, transposed) of a card.
    private func seen(_ p: Double, _ whole: Int) -> Int {
        max(0, whole - Int(((Double(whole) - abs(cos(p * .pi)) * Double(whole)) / 4).rounded()) * 4)
    }

    @Test("A flip about the vertical axis narrows the frame, and shows the second frame from the middle on")
    func flipHorizontal() {
        check(.flipHorizontal, tolerance: 1) { a, b, color, p in
            let shown = p < 0.5 ? a : b
            let width = seen(p, Self.width) * a.width / Self.width
            var halved = shown
            while width > 0, halved.width >= 2 * width {
                let wide = halved
                halved = PlainPlane(width: wide.width / 2, height: wide.height) { x, y in
                    sample((Double(wide[2 * x, y]) + Double(wide[2 * x + 1, y])) / 2)
                }
            }
            let edge = (a.width - width) / 2
            return PlainPlane(width: a.width, height: a.height) { x, y in
                guard x >= edge, x < edge + width else { return color }
                let place = (Double(x - edge) + 0.5) * Double(halved.width) / Double(width)
                return sample(halved.interpolated(place, Double(y) + 0.5))
            }
        }
    }

    @Test("A flip about the horizontal axis reduces the frame's height, and shows the second frame from the middle on")
    func flipVertical() {
        check(.flipVertical, tolerance: 1) { a, b, color, p in
            let shown = p < 0.5 ? a : b
            let height = seen(p, Self.height) * a.height / Self.height
            let edge = (a.height - height) / 2
            return PlainPlane(width: a.width, height: a.height) { x, y in
                guard y >= edge, y < edge + height else { return color }
                let step = Double(a.height) / Double(height)
                return sample(shown.mean(x: Double(x), y: Double(y - edge) * step, width: 1, height: step))
            }
        }
    }

    @Test("A circle transition grows from the center, and only the circle's edge is mixed")
    func circle() {
        let whole = (Double(Self.width * Self.width + Self.height * Self.height)).squareRoot() / 2 + 1
        check(.circle, tolerance: 1) { a, b, _, p in
            let radius = p * whole * Double(a.width) / Double(Self.width)
            return PlainPlane(width: a.width, height: a.height) { x, y in
                let (dx, dy) = (Double(x) + 0.5 - Double(a.width) / 2, Double(y) + 0.5 - Double(a.height) / 2)
                let covered = min(1, max(0, radius - (dx * dx + dy * dy).squareRoot() + 0.5))
                return sample(Double(a[x, y]) * (1 - covered) + Double(b[x, y]) * covered)
            }
        }
    }

    private func halved(_ plane: PlainPlane) -> PlainPlane {
        PlainPlane(width: (plane.width + 1) / 2, height: (plane.height + 1) / 2) { x, y in
            let four = plane.clamped(2 * x, 2 * y) + plane.clamped(2 * x + 1, 2 * y) + plane.clamped(2 * x, 2 * y + 1)
            return sample((four + plane.clamped(2 * x + 1, 2 * y + 1)) / 4)
        }
    }

    private func doubled(_ plane: PlainPlane, width: Int, height: Int) -> PlainPlane {
        PlainPlane(width: width, height: height) { x, y in
            sample(plane.interpolated((Double(x) + 0.5) / 2, (Double(y) + 0.5) / 2))
        }
    }

    private func mixed(_ a: PlainPlane, _ b: PlainPlane, _ part: Double) -> PlainPlane {
        PlainPlane(width: a.width, height: a.height) { x, y in
            sample(Double(a[x, y]) * (1 - part) + Double(b[x, y]) * part)
        }
    }

    @Test("A blur transition shows ever smaller copies of the frames, and mixes both frames at the smallest size")
    func blur() {
        check(.blur, tolerance: 1) { a, b, _, p in
            let depth = 4 * min(1, (0.5 - abs(p - 0.5)) / 0.35)
            func levels(_ plane: PlainPlane) -> [PlainPlane] {
                (0..<4).reduce(into: [plane]) { planes, _ in planes.append(halved(planes[planes.count - 1])) }
            }
            let (from, to) = (levels(a), levels(b))
            if depth == 0 { return p < 0.5 ? a : b }
            let lower = Int(depth.rounded(.up))
            var shown = p < 0.5 ? from[lower] : to[lower]
            if depth == 4 { shown = mixed(from[4], to[4], min(1, max(0, (p - 0.35) / 0.3))) }
            for level in stride(from: lower - 1, through: 0, by: -1) {
                let sharp = p < 0.5 ? from[level] : to[level]
                let soft = doubled(shown, width: sharp.width, height: sharp.height)
                shown = level == lower - 1 && depth < 4 ? mixed(sharp, soft, depth - Double(level)) : soft
            }
            return shown
        }
    }

    @Test("Each easing function begins at 0, ends at 1 and never decreases", arguments: Easing.allCases)
    func easing(easing: Easing) {
        let values = (0...100).map { easing.progress(at: Double($0) / 100) }
        #expect(values.first == 0 && values.last == 1)
        #expect(zip(values, values.dropFirst()).allSatisfy(<=))
        #expect(easing.progress(at: -1) == 0 && easing.progress(at: 2) == 1)
    }

    @Test("Transitions and easings have the documented names, and an easing is parsed from its name")
    func words() throws {
        let kinds = Transition.Kind.allCases.map(\.rawValue)
        #expect(
            kinds == [
                "cut", "move", "fade", "dissolve", "slide-left", "slide-right", "slide-up", "slide-down", "push-left",
                "push-right", "push-up", "push-down", "wipe-left", "wipe-right", "wipe-up", "wipe-down", "zoom-in",
                "zoom-out", "flip-horizontal", "flip-vertical", "circle", "blur", "dip",
            ])
        #expect(Easing.allCases.map(\.rawValue) == ["linear", "in-out", "out"])
        #expect(try JSONDecoder().decode([Easing].self, from: Data(#"["in-out"]"#.utf8)) == [.inOut])
    }
}
