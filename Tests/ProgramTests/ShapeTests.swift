// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Kernels
@testable import Program

@Suite("Placement of sources with another aspect ratio than the program")
struct ShapeTests {
    /// Content of 9:16 and 2.4:1 between bars, in 1920x1080.
    private let upright = FrameRegion(x: 656, y: 0, width: 608, height: 1080)
    private let wide = FrameRegion(x: 0, y: 140, width: 1920, height: 800)

    private func check(
        _ placement: Placement, _ region: FrameRegion, shows source: PixelRectangle, at destination: PixelRectangle,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let place = PixelPlacement(placement, source: (1920, 1080), region: region, program: (1920, 1080))
        #expect(place.source == source, sourceLocation: sourceLocation)
        #expect(place.destination == destination, sourceLocation: sourceLocation)
    }

    private func rectangle(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> PixelRectangle {
        PixelRectangle(x: x, y: y, width: width, height: height)
    }

    private func places(
        _ layout: SceneLayout.Kind, _ count: Int = 2, inset: SceneLayout.Inset? = nil, fit: SceneLayout.Fit? = nil
    ) -> [Placement] {
        SceneLayout(layout, (0..<count).map { "\($0)" }, inset: inset, fit: fit).placements(in: .bt709)
    }

    private var whole: [FrameRegion: PixelRectangle] {
        [upright: rectangle(656, 0, 608, 1080), wide: rectangle(0, 140, 1920, 800)]
    }

    @Test("In a split the middle of a source's content fills its half of the frame")
    func cropped() {
        let half = rectangle(0, 0, 960, 1080)
        check(places(.splitHorizontal)[0], upright, shows: rectangle(656, 198, 608, 684), at: half)
        check(places(.splitHorizontal)[0], wide, shows: rectangle(604, 140, 712, 800), at: half)
        check(places(.splitVertical)[0], upright, shows: rectangle(656, 454, 608, 172), at: rectangle(0, 0, 1920, 540))
    }

    @Test("With the option contain, a split shows the complete source as large as possible in its half")
    func fitted() {
        let place = places(.splitHorizontal, fit: .contain)[1]
        check(place, upright, shows: rectangle(656, 0, 608, 1080), at: rectangle(1136, 0, 608, 1080))
        check(place, wide, shows: rectangle(0, 140, 1920, 800), at: rectangle(960, 340, 960, 400))
    }

    @Test("An inset has the source's aspect ratio, and is aligned to the nearest corner")
    func inset() {
        check(places(.pip)[1], upright, shows: rectangle(656, 0, 608, 1080), at: rectangle(1720, 784, 152, 270))
        let top = places(.pip, inset: .init(x: 0.5, y: 0, width: 0.25))[1]
        check(top, wide, shows: rectangle(0, 140, 1920, 800), at: rectangle(960, 0, 480, 200))
        let left = places(.pip, inset: .init(.bottomLeft))[1]
        check(left, upright, shows: rectangle(656, 0, 608, 1080), at: rectangle(48, 784, 152, 270))
        // An inset as wide as the frame has no side to align to.
        let large = places(.pip, inset: .init(x: 0, y: 0, width: 1))[1]
        check(large, upright, shows: rectangle(656, 0, 608, 1080), at: rectangle(656, 0, 608, 1080))
    }

    @Test("A cell of a grid shows the source's complete content as large as possible, without black bars")
    func cells() {
        let four = places(.grid, 4)[3]
        check(four, upright, shows: rectangle(656, 0, 608, 1080), at: rectangle(1288, 540, 304, 540))
        check(four, wide, shows: rectangle(0, 140, 1920, 800), at: rectangle(960, 610, 960, 400))
        // 202.7 columns become 204 even pixels; three times that would exceed the source.
        check(places(.grid, 5)[0], upright, shows: rectangle(656, 0, 608, 1080), at: rectangle(218, 180, 204, 360))
    }

    @Test("A source that is shown alone is unchanged, with its black bars")
    func alone() {
        for place in places(.single, 1) + places(.grid, 1) + [places(.pip)[0]] {
            #expect(place == .full)
            check(place, upright, shows: rectangle(0, 0, 1920, 1080), at: rectangle(0, 0, 1920, 1080))
        }
    }

    @Test("During a move black bars appear and disappear gradually, and no aspect ratio changes")
    func moves() {
        let ends = [places(.pip)[1], places(.splitHorizontal)[0], places(.splitHorizontal, fit: .contain)[1]]
        let all = [Placement.full] + ends + [places(.grid, 4)[2]]
        for region in [upright, wide] {
            let part = Placement.Rectangle(region, of: (1920, 1080))
            for (from, to) in all.flatMap({ from in all.filter { $0 != from }.map { (from, $0) } }) {
                var former = from.shape?.places(of: part).destination ?? .all
                for step in 1...40 {
                    let place = from.interpolated(to: to, fraction: Double(step) / 40)
                    let now = place.shape?.places(of: part)
                    let (source, destination) = (now?.source ?? .all, now?.destination ?? .all)
                    let (one, other) = (source.width / source.height, destination.width / destination.height)
                    #expect(abs(one - other) < 1e-9)
                    let steps = [
                        destination.x - former.x, destination.y - former.y,
                        destination.x + destination.width - former.x - former.width,
                        destination.y + destination.height - former.y - former.height,
                    ]
                    #expect(steps.allSatisfy { abs($0) < 0.08 }, "\(steps)")
                    former = destination
                }
                let last = to.shape?.places(of: part).destination ?? .all
                #expect(abs(former.x - last.x) < 1e-9 && abs(former.width - last.width) < 1e-9)
                #expect(abs(former.y - last.y) < 1e-9 && abs(former.height - last.height) < 1e-9)
            }
        }
    }
}
