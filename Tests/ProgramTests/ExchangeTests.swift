// SPDX-License-Identifier: Apache-2.0

import FrameSamples
import Media
import Testing

@testable import Kernels
@testable import Program

@Suite("Composing two layers that exchange their depth")
struct ExchangeTests {
    private static let steps = 24
    private let format = VideoFormat(width: 320, height: 180, frameRate: FrameRate(25))

    /// Returns the placements of both layers at a step of the move, with or without borders.
    private func places(_ step: Int, edged: Bool) -> (Placement, Placement) {
        var inset = Placement.inset
        if edged {
            (inset.cornerRadius, inset.border) = (0.06, .init(width: 0.02, color: PixelColor(y: 235, u: 128, v: 128)))
        }
        let fraction = Double(step) / Double(Self.steps)
        return (
            Placement.full.interpolated(to: inset, fraction: fraction),
            inset.interpolated(to: .full, fraction: fraction)
        )
    }

    /// Returns the frame composed in one pass, and the blend of both orders.
    private func frames(_ a: VideoFrame, _ b: VideoFrame, _ step: Int, edged: Bool) -> (
        made: PlainFrame, wanted: PlainFrame
    ) {
        let (first, second) = places(step, edged: edged)
        let share = Double(step) / Double(Self.steps)
        let (order, reverse) =
            ([(a, first), (b, second)], [(b, second), (a, first)])
            as (
                [(frame: VideoFrame?, placement: Placement)], [(frame: VideoFrame?, placement: Placement)]
            )
        var compositor = Compositor(format)
        let made =
            share <= 0.5
            ? compositor.compose(order, exchanged: share)
            : compositor.compose(reverse, exchanged: 1 - share)
        let (before, after) = (compositor.compose(order), compositor.compose(reverse))
        return (PlainFrame(made), PlainFrame(compositor.blend(before, after, by: Transition(.fade), progress: share)))
    }

    @Test(
        "Composing two layers in both depth orders in one pass gives the same frame as blending both results",
        arguments: 1..<steps)
    func same(step: Int) {
        let (a, b) = (
            PlainFrame(width: 320, height: 180, seed: 1).frame, PlainFrame(width: 320, height: 180, seed: 2).frame
        )
        let (made, wanted) = frames(a, b, step, edged: false)
        for (made, wanted) in zip(made.planes, wanted.planes) {
            #expect(zip(made.samples, wanted.samples).allSatisfy { abs(Int($0) - Int($1)) <= 2 })
        }
    }

    @Test(
        "When two layers exchange their depth, borders and round corners are right, and both layers are opaque",
        arguments: 1..<steps)
    func edged(step: Int) {
        let (a, b) = (flat(60), flat(200))
        let (made, wanted) = frames(a, b, step, edged: true)
        let (first, second) = places(step, edged: true)
        let edges = [first, second].map { PixelPlacement($0, of: a, program: (320, 180)) }
        for y in 0..<180 {
            for x in 0..<320 {
                let isInArc = edges.contains { isAtArc(x, y, of: $0) }
                let difference = abs(Int(made.y[x, y]) - Int(wanted.y[x, y]))
                if !isInArc { #expect(difference <= 2, "\(x) \(y)") }
                if edges.contains(where: { isInside(x, y, $0.outer) && !isInCorner(x, y, of: $0) }) {
                    #expect(made.y[x, y] >= 58, "\(x) \(y)")
                }
            }
        }
    }

    @Test("If two layers exchange their depth partly outside the frame, every pixel of the frame is still drawn")
    func edges() {
        let border = Placement.Border(width: 0.02, color: PixelColor(y: 235, u: 128, v: 128))
        let sizes = [(0.0, 0.0), (0.004, 0.01), (0.3, 0.3), (0.75, 0.02)]
        var compositor = Compositor(format)
        for (x, y) in [(-0.1, 0.4), (0.85, -0.2), (0.2, 0.9)] {
            for (width, height) in sizes {
                for radius in [0, 0.05] {
                    let small = Placement(
                        destination: .init(x: x, y: y, width: width, height: height), cornerRadius: radius,
                        border: border)
                    let large = Placement(destination: .init(x: 0.1, y: 0.1, width: 0.8, height: 0.8))
                    for (one, other) in [(small, large), (large, small)] {
                        // From now on the pool's memory holds these values.
                        for value: UInt8 in [1, 2, 3] {
                            var canvas = compositor.pool.canvas()
                            canvas.fill(PixelColor(y: value, u: value, v: value))
                        }
                        let layers: [(frame: VideoFrame?, placement: Placement)] = [
                            (flat(60), one), (flat(200), other),
                        ]
                        let made = PlainFrame(compositor.compose(layers, exchanged: 0.25)).y.samples
                        #expect(made.allSatisfy { $0 >= 15 }, "\(x) \(y) \(width) \(height) \(radius)")
                    }
                }
            }
        }
    }

    private func flat(_ luma: UInt8) -> VideoFrame {
        PlainFrame(width: 320, height: 180, PixelColor(y: luma, u: 128, v: 128)).frame
    }

    private func isInside(_ x: Int, _ y: Int, _ place: PixelRectangle) -> Bool {
        x >= place.x && x < place.x + place.width && y >= place.y && y < place.y + place.height
    }

    /// Whether the arc of a corner passes through the pixel, or nearly.
    private func isAtArc(_ x: Int, _ y: Int, of edge: PixelPlacement) -> Bool {
        guard isInCorner(x, y, of: edge) else { return false }
        let (place, radius) = (edge.outer, edge.outerRadius)
        let centerX = x < place.x + radius ? place.x + radius : place.x + place.width - radius
        let centerY = y < place.y + radius ? place.y + radius : place.y + place.height - radius
        let (across, down) = (Double(x) + 0.5 - Double(centerX), Double(y) + 0.5 - Double(centerY))
        let distance = (across * across + down * down).squareRoot()
        return [radius, edge.radius].contains { abs(distance - Double($0)) < 2 }
    }

    private func isInCorner(_ x: Int, _ y: Int, of edge: PixelPlacement) -> Bool {
        let (place, radius) = (edge.outer, edge.outerRadius)
        let isAtSide = x < place.x + radius || x >= place.x + place.width - radius
        let isAtEnd = y < place.y + radius || y >= place.y + place.height - radius
        return isInside(x, y, place) && isAtSide && isAtEnd
    }
}
