// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Program

@Suite("Two layers that change places, each drawn once")
struct ExchangeTests {
    private static let steps = 24
    private let format = VideoFormat(width: 320, height: 180, frameRate: FrameRate(25))

    /// The two on the way to each other's place, with an edge or without.
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

    /// What is composed at once, and what is blended of both orders.
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
            ? compositor.compose(order, moving: true, exchanged: share)
            : compositor.compose(reverse, moving: true, exchanged: 1 - share)
        let (before, after) = (compositor.compose(order, moving: true), compositor.compose(reverse, moving: true))
        return (PlainFrame(made), PlainFrame(compositor.blend(before, after, by: Transition(.fade), progress: share)))
    }

    @Test("They show what a blend of both orders shows", arguments: 1..<steps)
    func same(step: Int) {
        let (a, b) = (
            PlainFrame(width: 320, height: 180, seed: 1).frame, PlainFrame(width: 320, height: 180, seed: 2).frame
        )
        let (made, wanted) = frames(a, b, step, edged: false)
        for (made, wanted) in zip(made.planes, wanted.planes) {
            #expect(zip(made.samples, wanted.samples).allSatisfy { abs(Int($0) - Int($1)) <= 2 })
        }
    }

    @Test("With borders and round corners, too; what is behind both is not seen through either", arguments: 1..<steps)
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

    private func flat(_ luma: UInt8) -> VideoFrame {
        PlainFrame(width: 320, height: 180, PixelColor(y: luma, u: 128, v: 128)).frame
    }

    private func isInside(_ x: Int, _ y: Int, _ place: PixelRectangle) -> Bool {
        x >= place.x && x < place.x + place.width && y >= place.y && y < place.y + place.height
    }

    /// Whether the arc of a corner passes the pixel, or nearly.
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
