// SPDX-License-Identifier: Apache-2.0

import FrameSamples
import Media
import Testing

@testable import Kernels

@Suite("Layouts compared with libavfilter's overlay and xstack", .serialized)
struct LayoutOracleTests {
    private static let (width, height) = (192, 108)
    private let pool = FramePool(width: width, height: height)
    private let sources = (1...4).map { PlainFrame(width: width, height: height, seed: UInt64($0)) }

    private func draw(_ places: [Placement], over main: PlainFrame? = nil) -> PlainFrame {
        var canvas = pool.canvas()
        canvas.fill(.black)
        if let main { canvas.copy(main.frame) }
        for (index, place) in places.enumerated() {
            Scaler().draw(sources[index].frame, at: place, on: &canvas)
        }
        return PlainFrame(canvas.finish(pts: 0, timeBase: .milliseconds))
    }

    private func filtered(_ inputs: [PlainFrame], _ filter: String) throws -> PlainFrame {
        let bytes = try ffmpeg(
            inputs: inputs.map(\.bytes), format: "yuv420p", width: Self.width, height: Self.height, filter)
        return try PlainFrame(yuv420p: bytes, width: Self.width, height: Self.height)
    }

    // libswscale rounds the area mean at another step of the computation, so results may differ by one level.
    @Test("An inset of a quarter of the width differs from libavfilter's overlay by at most one level")
    func inset() throws {
        let main = PlainFrame(width: Self.width, height: Self.height, seed: 9)
        // The inset begins at 0.725 of 192 and of 108, which is 138 and 78 on even pixels. It is 26 rows high.
        let place = PixelPlacement(.inset, source: (Self.width, Self.height), program: (Self.width, Self.height))
        let to = place.destination
        let expected = try filtered(
            [main, sources[0]],
            "[1]scale=\(to.width):\(to.height):flags=area+accurate_rnd[p];[0][p]overlay=\(to.x):\(to.y):format=yuv420")
        #expect(draw([.inset], over: main).difference(expected) <= 1)
    }

    @Test("An inset that is partly outside the frame is cropped in the same way as by libavfilter's overlay")
    func outside() throws {
        let main = PlainFrame(width: Self.width, height: Self.height, seed: 9)
        let place = Placement(
            destination: .init(x: -24.0 / 192, y: 80.0 / 108, width: 48.0 / 192, height: 54.0 / 108))
        let expected = try filtered(
            [main, sources[0]],
            "[1]scale=48:54:flags=area+accurate_rnd[p];[0][p]overlay=-24:80:format=yuv420")
        #expect(draw([place], over: main).difference(expected) <= 1)
    }

    @Test("A split with cropped halves equals the result of libavfilter, sample for sample")
    func split() throws {
        let expected = try filtered(
            Array(sources.prefix(2)),
            "[0]crop=96:108:48:0[a];[1]crop=96:108:48:0[b];[a][b]xstack=inputs=2:layout=0_0|w0_0")
        #expect(draw((0..<2).map { .part($0, of: 2, horizontal: true) }).difference(expected) == 0)
    }

    @Test("A split whose halves show complete sources on black differs from libavfilter by at most one level")
    func fitted() throws {
        // Each half would begin at row 27. On even pixels it begins at row 28.
        let half = "scale=96:54:flags=area+accurate_rnd,pad=96:108:0:28:black"
        let expected = try filtered(
            Array(sources.prefix(2)), "[0]\(half)[a];[1]\(half)[b];[a][b]xstack=inputs=2:layout=0_0|w0_0")
        #expect(draw((0..<2).map { .part($0, of: 2, horizontal: true, fits: true) }).difference(expected) <= 1)
    }

    @Test("A 2x2 grid differs from libavfilter's xstack by at most one level")
    func grid() throws {
        let cells = (0..<4).map { "[\($0)]scale=96:54:flags=area+accurate_rnd[c\($0)];" }.joined()
        let expected = try filtered(
            sources, cells + "[c0][c1][c2][c3]xstack=inputs=4:layout=0_0|w0_0|0_h0|w0_h0")
        #expect(draw((0..<4).map { .cell($0, columns: 2, rows: 2) }).difference(expected) <= 1)
    }

    @Test(
        "A source scaled by a fraction differs from the area mean of libswscale by at most one level",
        arguments: [(58, 34), (134, 76), (100, 100)])
    func crooked(width: Int, height: Int) throws {
        let main = PlainFrame(width: Self.width, height: Self.height, seed: 9)
        let place = Placement(
            destination: .init(x: 10.0 / 192, y: 6.0 / 108, width: Double(width) / 192, height: Double(height) / 108))
        let expected = try filtered(
            [main, sources[0]],
            "[1]scale=\(width):\(height):flags=area+accurate_rnd[p];[0][p]overlay=10:6:format=yuv420")
        #expect(draw([place], over: main).difference(expected) <= 1)
    }
}
