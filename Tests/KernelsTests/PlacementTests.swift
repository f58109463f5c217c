// SPDX-License-Identifier: Apache-2.0

import FrameSamples
import Testing

@testable import Kernels

@Suite("Placements in pixels")
struct PlacementTests {
    private func pixels(_ placement: Placement, width: Int, height: Int) -> PixelPlacement {
        PixelPlacement(placement, source: (width, height), program: (width, height))
    }

    @Test("An inset is a quarter of the program wide, and its margin is a fortieth of the program's width")
    func inset() {
        let place = pixels(.inset, width: 1920, height: 1080)
        #expect(place.destination == PixelRectangle(x: 1392, y: 784, width: 480, height: 270))
        #expect(place.source == PixelRectangle(x: 0, y: 0, width: 1920, height: 1080))
    }

    @Test(
        "The parts of a split and the cells of a grid cover the program without gaps",
        arguments: [(1920, 1080), (854, 480), (1280, 718), (50, 38)])
    func seams(width: Int, height: Int) {
        func check(_ places: [Placement], _ comment: Comment) {
            var covered = PlainPlane(width: width, height: height) { _, _ in 0 }
            for place in places {
                let rectangle = pixels(place, width: width, height: height).destination
                for value in [rectangle.x, rectangle.y, rectangle.width, rectangle.height] { #expect(value % 2 == 0) }
                for y in rectangle.y..<rectangle.y + rectangle.height {
                    for x in rectangle.x..<rectangle.x + rectangle.width { covered[x, y] += 1 }
                }
            }
            #expect(covered.samples.allSatisfy { $0 == 1 }, comment)
        }
        check((0..<2).map { .part($0, of: 2, horizontal: true) }, "halves")
        check((0..<3).map { .part($0, of: 3, horizontal: false) }, "thirds")
        for (columns, rows) in [(2, 2), (3, 3)] {
            check((0..<columns * rows).map { .cell($0, columns: columns, rows: rows) }, "\(columns) by \(rows)")
        }
    }

    @Test("The halves of a split show cropped sources, which are never scaled", arguments: [1920, 1280, 854, 1366, 50])
    func straight(width: Int) {
        for index in 0..<2 {
            let place = pixels(.part(index, of: 2, horizontal: true), width: width, height: 100)
            #expect(place.source.width == place.destination.width)
            #expect(place.source.x + place.source.width <= width)
        }
    }

    @Test("A moving inset keeps its size in pixels at every position")
    func keepsSize() {
        for step in 0..<100 {
            var place = Placement.inset
            place.destination.x = Double(step) / 137
            place.destination.y = Double(step) / 211
            let rectangle = pixels(place, width: 1920, height: 1080).destination
            #expect(rectangle.width == 480 && rectangle.height == 270)
        }
    }

    @Test("A source that is fitted into its part keeps its aspect ratio and is centered")
    func fits() {
        let place = pixels(.part(1, of: 2, horizontal: true, fits: true), width: 1920, height: 1080)
        #expect(place.destination == PixelRectangle(x: 960, y: 270, width: 960, height: 540))
        let square = Placement.Rectangle(x: 0, y: 0, width: 1, height: 0.5).fitting(aspect: 1)
        #expect(square == .init(x: 0.25, y: 0, width: 0.5, height: 0.5))
    }

    @Test("A placement interpolated between two others equals the first at progress 0 and the second at 1")
    func interpolates() {
        var end = Placement.inset
        end.border = .init(width: 0.01, color: PixelColor(y: 200, u: 100, v: 50))
        end.cornerRadius = 0.02
        #expect(Placement.full.interpolated(to: end, fraction: 1) == end)
        var start = Placement.full.interpolated(to: end, fraction: 0)
        #expect(start.border?.width == 0)
        start.border = nil
        #expect(start == .full)
        let half = Placement.full.interpolated(to: end, fraction: 0.5)
        #expect(half.destination.width == 0.625)
        #expect(half.cornerRadius == 0.01)
        #expect(half.border?.width == 0.005)
    }

    @Test(
        "Placements with out-of-range numbers never crash the process",
        arguments: [0, -1, 5, 1e300, -1e300, .nan, .infinity])
    func extremes(number: Double) {
        for rectangle in [
            Placement.Rectangle(x: number, y: 0, width: 1, height: number),
            Placement.Rectangle(x: 0, y: number, width: number, height: 0),
        ] {
            var placement = Placement(source: rectangle, destination: rectangle.fitting(aspect: 1))
            placement.cornerRadius = number
            placement.border = .init(width: number, color: .black)
            let place = pixels(placement, width: 64, height: 36)
            #expect(place.source.width >= 2 && place.source.x >= 0 && place.source.x + place.source.width <= 64)
            #expect(place.source.height >= 2 && place.source.y >= 0 && place.source.y + place.source.height <= 36)
            let pool = FramePool(width: 64, height: 36)
            var canvas = pool.canvas()
            Scaler().draw(PlainFrame(width: 64, height: 36, seed: 1).frame, at: placement, on: &canvas)
        }
    }
}
