// SPDX-License-Identifier: Apache-2.0

import FrameSamples
import Media
import Testing

@testable import Kernels

@Suite("Transitions compared with libavfilter's xfade", .serialized)
struct XfadeOracleTests {
    private static let (width, height) = (96, 56)
    private let a = PlainFrame(width: width, height: height, seed: 1)
    private let b = PlainFrame(width: width, height: height, seed: 2)

    /// xfade's result for two planes at 0, 1/4, 1/2, 3/4 and 1. It does not support 4:2:0, so each plane is processed
    /// separately.
    private func xfade(_ name: String, _ a: PlainPlane, _ b: PlainPlane) throws -> [PlainPlane] {
        let inputs = [a, b].map { plane in Array(repeatElement(plane.samples, count: 3 * 8).joined()) }
        let bytes = try ffmpeg(
            inputs: inputs, format: "yuv444p", width: a.width, height: a.height, rate: 4,
            "[0][1]xfade=transition=\(name):duration=1:offset=0")
        let size = a.width * a.height
        try #require(bytes.count >= 5 * 3 * size)
        return (0..<5).map { frame in
            plane(bytes[frame * 3 * size..<(frame * 3 + 1) * size], width: a.width, height: a.height)
        }
    }

    private func render(_ kind: Transition.Kind) -> [PlainFrame] {
        let pool = FramePool(width: Self.width, height: Self.height)
        let renderer = TransitionRenderer(width: Self.width, height: Self.height)
        return (0..<5).map { step in
            var canvas = pool.canvas()
            renderer.render(a.frame, b.frame, Transition(kind), progress: Double(step) / 4, into: &canvas)
            return PlainFrame(canvas.finish(pts: 0, timeBase: .milliseconds))
        }
    }

    private func check(
        _ kind: Transition.Kind, _ name: String, tolerance: Int, except: (Int, Int, Int, PlainPlane) -> Bool
    ) throws {
        let frames = render(kind)
        for index in 0..<3 {
            let expected = try xfade(name, a.planes[index], b.planes[index])
            for step in 0..<5 {
                let plane = frames[step].planes[index]
                let difference = plane.difference(expected[step]) { except($0, $1, step, plane) }
                #expect(difference <= tolerance, "\(kind) plane \(index) at \(step)/4")
            }
        }
    }

    @Test("A fade differs from libavfilter's xfade by at most one level")
    func fade() throws {
        try check(.fade, "fade", tolerance: 1) { _, _, _, _ in false }
    }

    @Test("A dissolve changes the same luma pixels as libavfilter's xfade")
    func dissolve() throws {
        let expected = try xfade("dissolve", a.y, b.y)
        for (step, frame) in render(.dissolve).enumerated() {
            #expect(frame.y.difference(expected[step]) == 0, "at \(step)/4")
        }
    }

    @Test(
        "Except at its edge, a wipe differs from libavfilter's xfade by at most two levels",
        arguments: [
            (Transition.Kind.wipeLeft, "wipeleft"), (.wipeRight, "wiperight"), (.wipeUp, "wipeup"),
            (.wipeDown, "wipedown"),
        ])
    func wipe(kind: Transition.Kind, name: String) throws {
        try check(kind, name, tolerance: 2) { isEdge(kind, name, $0, $1, $2, $3) }
    }

    @Test(
        "Except at its edge, a push differs from a slide of libavfilter's xfade by at most two levels",
        arguments: [
            (Transition.Kind.pushLeft, "slideleft"), (.pushRight, "slideright"), (.pushUp, "slideup"),
            (.pushDown, "slidedown"),
        ])
    func push(kind: Transition.Kind, name: String) throws {
        try check(kind, name, tolerance: 2) { isEdge(kind, name, $0, $1, $2, $3) }
    }

    /// Whether (x, y) is within two pixels of the edge between the two frames. In its first frame, xfade takes the
    /// first line of a slide from beyond the last one.
    private func isEdge(
        _ kind: Transition.Kind, _ name: String, _ x: Int, _ y: Int, _ step: Int, _ plane: PlainPlane
    ) -> Bool {
        let isHorizontal = name.hasSuffix("left") || name.hasSuffix("right")
        let isForward = name.hasSuffix("right") || name.hasSuffix("down")
        let length = Double(isHorizontal ? plane.width : plane.height)
        let part = Double(step) / 4
        let edge = length * (isForward ? part : 1 - part)
        let place = Double(isHorizontal ? x : y) + 0.5
        return abs(place - edge) < 2 || (step == 0 && place < 1)
    }
}
