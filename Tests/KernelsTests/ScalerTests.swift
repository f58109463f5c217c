// SPDX-License-Identifier: Apache-2.0

import FrameSamples
import Media
import TestSupport
import Testing

@testable import Kernels

@Suite("Drawing a source at its placement")
struct ScalerTests {
    private static let (width, height) = (96, 54)
    private let pool = FramePool(width: width, height: height)
    private let main = PlainFrame(width: width, height: height, seed: 1)
    private let second = PlainFrame(width: width, height: height, seed: 2)

    private func rectangle(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> Placement.Rectangle {
        .init(
            x: Double(x) / Double(Self.width), y: Double(y) / Double(Self.height),
            width: Double(width) / Double(Self.width), height: Double(height) / Double(Self.height))
    }

    private func draw(_ placement: Placement, with scaler: Scaler = Scaler()) -> PlainFrame {
        var canvas = pool.canvas(showing: main.frame)
        scaler.draw(second.frame(in: pool), at: placement, on: &canvas)
        return PlainFrame(canvas.finish(pts: 0, timeBase: .milliseconds))
    }

    /// The main frame with the second one over it, by definition: the mean of the area that a pixel covers, or, if
    /// enlarged, the value at its center.
    private func expected(_ place: PixelPlacement) -> PlainFrame {
        PlainFrame(
            zip(main.planes, second.planes).enumerated().map { index, planes in
                let (to, from) =
                    index == 0 ? (place.destination, place.source) : (place.destination.halved, place.source.halved)
                let (stepX, stepY) = (Double(from.width) / Double(to.width), Double(from.height) / Double(to.height))
                let cropped = PlainPlane(width: from.width, height: from.height) { planes.1[from.x + $0, from.y + $1] }
                return PlainPlane(width: planes.0.width, height: planes.0.height) { x, y in
                    guard x >= to.x, y >= to.y, x < to.x + to.width, y < to.y + to.height else { return planes.0[x, y] }
                    let (left, top) = (Double(x - to.x) * stepX, Double(y - to.y) * stepY)
                    // If a pixel covers at least one sample, it is the mean of the covered area; otherwise it is the
                    // interpolated value at its center.
                    if stepX >= 1, stepY >= 1 {
                        return sample(cropped.mean(x: left, y: top, width: stepX, height: stepY))
                    }
                    if stepX < 1, stepY < 1 { return sample(cropped.interpolated(left + stepX / 2, top + stepY / 2)) }
                    if stepX < 1 {
                        let rows = PlainPlane(width: cropped.width, height: 1) { column, _ in
                            sample(cropped.mean(x: Double(column), y: top, width: 1, height: stepY))
                        }
                        return sample(rows.interpolated(left + stepX / 2, 0.5))
                    }
                    let columns = PlainPlane(width: 1, height: cropped.height) { _, row in
                        sample(cropped.mean(x: left, y: Double(row), width: stepX, height: 1))
                    }
                    return sample(columns.interpolated(0.5, top + stepY / 2))
                }
            })
    }

    private func check(_ placement: Placement, tolerance: Int) {
        let place = PixelPlacement(
            placement, source: (Self.width, Self.height), program: (Self.width, Self.height))
        let difference = draw(placement).difference(expected(place))
        #expect(difference <= tolerance, "\(place)")
    }

    @Test("A source that is drawn in its own size is copied sample for sample")
    func copies() {
        check(.full, tolerance: 0)
        check(Placement(source: rectangle(24, 0, 48, 54), destination: rectangle(0, 0, 48, 54)), tolerance: 0)
        check(Placement(source: rectangle(0, 10, 30, 20), destination: rectangle(40, 30, 30, 20)), tolerance: 0)
    }

    @Test(
        "Reducing a frame by integer factors gives the mean of each block, rounded to the nearest level",
        arguments: 2...8)
    func boxes(by factor: Int) {
        let (width, height) = (12, 6)
        check(
            Placement(
                source: rectangle(0, 0, min(96, width * factor), min(54, height * factor)),
                destination: rectangle(10, 8, width, height)),
            tolerance: 0)
    }

    @Test("A frame may be reduced by different factors in width and height")
    func flatBoxes() {
        check(Placement(source: rectangle(0, 0, 48, 20), destination: rectangle(2, 2, 16, 20)), tolerance: 0)
        check(Placement(source: rectangle(0, 0, 20, 48), destination: rectangle(2, 2, 20, 12)), tolerance: 0)
    }

    @Test(
        "Reducing a frame by non-integer factors gives the mean of each covered area, and enlarging interpolates",
        arguments: [
            (40, 22), (90, 50), (94, 52), (28, 16), (10, 50), (94, 10), (4, 2), (2, 2), (130, 74), (200, 100),
            (60, 100),
        ])
    func anySize(width: Int, height: Int) {
        check(Placement(destination: rectangle(4, 2, width, height)), tolerance: 2)
        check(Placement(source: rectangle(10, 6, 50, 38), destination: rectangle(4, 2, width, height)), tolerance: 2)
    }

    @Test("A source at an odd position is drawn at the next even position, for luma and chroma alike")
    func oddPlaces() {
        let placement = Placement(destination: rectangle(7, 5, 48, 27))
        let place = PixelPlacement(placement, source: (96, 54), program: (96, 54))
        #expect(place.destination == PixelRectangle(x: 8, y: 6, width: 48, height: 26))
        check(placement, tolerance: 1)
    }

    @Test(
        "Parts of a source outside of the canvas are not drawn",
        arguments: [(-20, -10), (80, 40), (-20, 40), (90, 52), (-46, 0), (0, -26), (-600, 4), (96, 0)])
    func clips(x: Int, y: Int) {
        check(Placement(destination: rectangle(x, y, 48, 28)), tolerance: 1)
        check(Placement(source: rectangle(0, 0, 48, 28), destination: rectangle(x, y, 48, 28)), tolerance: 0)
        check(Placement(source: rectangle(0, 0, 96, 52), destination: rectangle(x, y, 48, 26)), tolerance: 0)
        check(Placement(destination: rectangle(x, y, 300, 200)), tolerance: 1)
    }

    @Test("Drawing at random placements accesses no memory out of bounds, and gives the expected result")
    func anything() {
        var random = SeededRandom()
        let scaler = Scaler()
        for _ in 0..<60 {
            func any(_ range: ClosedRange<Double>) -> Double { .random(in: range, using: &random) }
            var placement = Placement(
                source: .init(x: any(0...0.9), y: any(0...0.9), width: any(0.01...1), height: any(0.01...1)),
                destination: .init(x: any(-1...1), y: any(-1...1), width: any(0...2), height: any(0...2)))
            let place = PixelPlacement(
                placement, source: (Self.width, Self.height), program: (Self.width, Self.height))
            // Weights are rounded to parts of 256. Each error counts by the difference of two neighboring samples, and
            // these samples are noise: over more than 16 of them, the errors add up to a further level.
            let isLargeReduction =
                place.source.width > 16 * place.destination.width || place.source.height > 16 * place.destination.height
            check(placement, tolerance: isLargeReduction ? 3 : 2)
            placement.cornerRadius = any(0...0.5)
            placement.border = .init(width: any(0...0.1), color: .black)
            _ = draw(placement, with: scaler)
        }
    }

    @Test("A scaler that has drawn one size draws another size with the same result as a new scaler")
    func keepsNothing() {
        let scaler = Scaler()
        for (width, height) in [(40, 22), (60, 100), (48, 27), (40, 22), (10, 6)] {
            let placement = Placement(
                destination: rectangle(4, 2, width, height), cornerRadius: Double(width) / 540,
                border: .init(width: 0.05, color: .black))
            #expect(draw(placement, with: scaler) == draw(placement))
        }
    }

    @Test("A border surrounds its source, and no other pixel changes")
    func border() {
        let color = PixelColor(y: 200, u: 90, v: 40)
        let plain = Placement(destination: rectangle(20, 10, 48, 26))
        var framed = plain
        framed.border = .init(width: 4.0 / 54, color: color)
        let (without, with) = (draw(plain), draw(framed))
        for (index, planes) in zip(without.planes, with.planes).enumerated() {
            let scale = index == 0 ? 1 : 2
            let (inner, outer) = (rectangleOf(20, 10, 48, 26, scale), rectangleOf(16, 6, 56, 34, scale))
            let value = [color.y, color.u, color.v][index]
            let expected = PlainPlane(width: planes.0.width, height: planes.0.height) { x, y in
                contains(outer, x, y) && !contains(inner, x, y) ? value : planes.0[x, y]
            }
            #expect(planes.1 == expected)
        }
    }

    private func rectangleOf(_ x: Int, _ y: Int, _ width: Int, _ height: Int, _ scale: Int) -> PixelRectangle {
        PixelRectangle(x: x / scale, y: y / scale, width: width / scale, height: height / scale)
    }

    private func contains(_ rectangle: PixelRectangle, _ x: Int, _ y: Int) -> Bool {
        x >= rectangle.x && y >= rectangle.y && x < rectangle.x + rectangle.width && y < rectangle.y + rectangle.height
    }

    /// Coverage of a pixel by a rectangle with round corners, by counting points in it.
    private func covered(_ x: Int, _ y: Int, _ rectangle: PixelRectangle, radius: Double, pixel: Int) -> Double {
        var inside = 0
        let points = 8 * pixel
        for row in 0..<points {
            for column in 0..<points {
                let px = Double(x * pixel - rectangle.x) + (Double(column) + 0.5) / 8
                let py = Double(y * pixel - rectangle.y) + (Double(row) + 0.5) / 8
                guard px >= 0, py >= 0, px < Double(rectangle.width), py < Double(rectangle.height) else { continue }
                let dx = max(radius - px, px - (Double(rectangle.width) - radius), 0)
                let dy = max(radius - py, py - (Double(rectangle.height) - radius), 0)
                if dx * dx + dy * dy <= radius * radius { inside += 1 }
            }
        }
        return Double(inside) / Double(points * points)
    }

    @Test(
        "A pixel at a round corner is mixed in the proportion that the arc covers, also at the border",
        arguments: [(20, 10), (-10, -6), (70, 40)])
    func corners(x: Int, y: Int) {
        let color = PixelColor(y: 255, u: 255, v: 255)
        let (dark, light) = (PixelColor(y: 0, u: 0, v: 0), PixelColor(y: 128, u: 128, v: 128))
        let placement = Placement(
            destination: rectangle(x, y, 48, 26), cornerRadius: 10.0 / 54, border: .init(width: 2.0 / 54, color: color))
        var canvas = pool.canvas()
        canvas.fill(dark)
        Scaler().draw(PlainFrame(width: 96, height: 54, light).frame, at: placement, on: &canvas)
        let drawn = PlainFrame(canvas.finish(pts: 0, timeBase: .milliseconds))
        let inner = PixelRectangle(x: x, y: y, width: 48, height: 26)
        for (index, plane) in drawn.planes.enumerated() {
            let pixel = index == 0 ? 1 : 2
            let expected = PlainPlane(width: plane.width, height: plane.height) { x, y in
                let edge = covered(x, y, inner.grown(by: 2), radius: 12, pixel: pixel)
                let shown = covered(x, y, inner, radius: 10, pixel: pixel)
                return sample(edge * (shown * 128 + (1 - shown) * 255))
            }
            // The masks treat an arc as straight within a pixel.
            #expect(plane.difference(expected) <= 12, "plane \(index)")
        }
    }
}
