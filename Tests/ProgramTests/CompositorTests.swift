// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Program

@Suite("Frames of several sources")
struct CompositorTests {
    private static let format = VideoFormat(width: 96, height: 54, frameRate: FrameRate(25))
    private let sources = (0..<9).map { PlainFrame(width: 96, height: 54, seed: UInt64($0 + 1)).frame }

    private func layers(_ placements: [Placement]) -> [(frame: VideoFrame?, placement: Placement)] {
        placements.enumerated().map { (sources[$0], $1) }
    }

    private static let scenes: [[Placement]] = {
        let names = (0..<9).map { "\($0)" }
        var scenes = (1...9).map { SceneLayout(.grid, Array(names.prefix($0))).placements(in: .bt709) }
        for kind in [SceneLayout.Kind.pip, .splitHorizontal, .splitVertical] {
            for fit in [SceneLayout.Fit.crop, .contain] {
                scenes.append(SceneLayout(kind, ["0", "1"], fit: fit).placements(in: .bt709))
            }
        }
        let pip = SceneLayout(.pip, ["0", "1"]).placements(in: .bt709)
        let split = SceneLayout(.splitHorizontal, ["0", "1"]).placements(in: .bt709)
        for step in 1..<8 {
            scenes.append(zip(pip, split).map { $0.interpolated(to: $1, fraction: Double(step) / 8) })
        }
        var outside = pip[1]
        (outside.destination.x, outside.destination.y) = (0.9, -0.1)
        return scenes + [[.full, outside], [outside], [split[1], pip[1]]]
    }()

    @Test("Only what no source hides is black, or of the frame behind, whatever the memory showed before")
    func background() {
        var compositor = Compositor(Self.format)
        for placements in Self.scenes {
            // What the pool's memory shows from now on.
            for value: UInt8 in [77, 99] {
                var canvas = compositor.pool.canvas()
                canvas.fill(PixelColor(y: value, u: value, v: value))
            }
            let made = compositor.compose(layers(placements))
            let isFilled = placements[0] == .full
            var canvas = FramePool(width: 96, height: 54).canvas()
            if isFilled { canvas.copy(sources[0]) } else { canvas.fill(.black) }
            for (index, placement) in placements.enumerated() where !(isFilled && index == 0) {
                Scaler().draw(sources[index], at: placement, on: &canvas)
            }
            let wanted = PlainFrame(canvas.finish(pts: 0, timeBase: .milliseconds))
            #expect(PlainFrame(made) == wanted, "\(placements.map(\.destination))")
        }
    }

    @Test("A source that fills the frame is its own frame, without a copy")
    func single() {
        var compositor = Compositor(Self.format)
        #expect(compositor.compose(layers([.full])).storage === sources[0].storage)
    }

    @Test("What was composed is drawn over where it is; a source's own frame is copied and stays as it was")
    func drawnOver() {
        var compositor = Compositor(Self.format)
        var composed: VideoFrame? = compositor.compose(layers([.full, .inset]))
        let place = composed.map { ObjectIdentifier($0.storage) }
        compositor.draw(over: &composed) { $0.fill(.black) }
        let after = composed.map { ObjectIdentifier($0.storage) }
        #expect(place != nil && after == place)
        var shared: VideoFrame? = compositor.compose(layers([.full]))
        compositor.draw(over: &shared) { $0.fill(.black) }
        #expect(shared?.storage !== sources[0].storage)
        #expect(PlainFrame(sources[0]) == PlainFrame(width: 96, height: 54, seed: 1))
    }
}
