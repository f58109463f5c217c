// SPDX-License-Identifier: Apache-2.0

import FrameSamples
import Media
import Testing

@testable import Kernels
@testable import Program

@Suite("Composition of frames from several sources")
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

    @Test("Areas that no source covers are black or show the layer behind, whatever the memory contained before")
    func background() {
        var compositor = Compositor(Self.format)
        for placements in Self.scenes {
            // From now on the pool's memory holds these values.
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

    /// Returns a frame of one luma between bars that are brighter than white.
    private func barred(_ region: FrameRegion) -> VideoFrame {
        var plain = PlainFrame(width: 192, height: 108, PixelColor(y: 250, u: 128, v: 128))
        for y in region.y..<region.y + region.height {
            for x in region.x..<region.x + region.width { plain.y[x, y] = 100 }
        }
        var frame = plain.frame
        frame.region = region
        return frame
    }

    @Test("A source's black bars are hidden next to other sources; the area shows black or the layer behind")
    func withoutBars() {
        var compositor = Compositor(VideoFormat(width: 192, height: 108, frameRate: FrameRate(25)))
        let upright = barred(FrameRegion(x: 66, y: 0, width: 60, height: 108))
        let wide = barred(FrameRegion(x: 0, y: 14, width: 192, height: 80))
        for kind in [SceneLayout.Kind.splitHorizontal, .splitVertical, .grid] {
            for fit in [SceneLayout.Fit.crop, .contain] {
                let places = SceneLayout(kind, ["0", "1"], fit: fit).placements(in: .bt709)
                for value: UInt8 in [77, 200] {
                    var canvas = compositor.pool.canvas()
                    canvas.fill(PixelColor(y: value, u: value, v: value))
                }
                let made = PlainFrame(compositor.compose([(upright, places[0]), (wide, places[1])])).y.samples
                #expect(made.allSatisfy { $0 == 16 || (98...102).contains($0) }, "\(kind) \(fit)")
                #expect(made.contains(16) == (kind == .grid || fit == .contain), "\(kind) \(fit)")
            }
        }
        let main = PlainFrame(width: 192, height: 108, PixelColor(y: 60, u: 128, v: 128)).frame
        let places = SceneLayout(.pip, ["0", "1"]).placements(in: .bt709)
        let inset = PlainFrame(compositor.compose([(main, places[0]), (upright, places[1])])).y
        // The placement begins at column 139, and the source in it at column 172.
        #expect(inset.samples.allSatisfy { $0 <= 235 } && inset[142, 90] == 60)
        #expect((98...102).contains(inset[180, 90]))
        let alone = compositor.compose([(upright, .full)])
        #expect(alone.storage === upright.storage)
    }

    @Test("The frame of a source that fills the program is output without a copy")
    func single() {
        var compositor = Compositor(Self.format)
        #expect(compositor.compose(layers([.full])).storage === sources[0].storage)
    }

    @Test("Overlays are drawn into a composed frame directly, and into a copy if the frame is a source's own")
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
