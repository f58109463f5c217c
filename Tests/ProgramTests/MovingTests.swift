// SPDX-License-Identifier: Apache-2.0

import FrameSamples
import Media
import Testing

@testable import Kernels
@testable import Program

@Suite("Layers that move from scene to scene")
struct MovingTests {
    private static let length: Int64 = 24
    /// A little more than the border, the corners and the rounding to even pixels.
    private static let margin = 8.0

    private let width = 320
    private let height = 180
    private let screen = AirScreen(width: 320, height: 180)
    private let a: VideoFrame
    private let b: VideoFrame
    private let c: VideoFrame

    init() {
        (a, b, c) = (Self.flat(60), Self.flat(200), Self.flat(130))
    }

    private static func flat(_ luma: UInt8) -> VideoFrame {
        PlainFrame(width: 320, height: 180, PixelColor(y: luma, u: 128, v: 128)).frame
    }

    private func change(_ frame: Int64, _ scene: Scene, frames: Int64 = length) -> AirScreen.Change {
        .init(frame: frame, scene: scene, transition: Transition(.move), frames: frames)
    }

    /// Returns where each layer is at a fraction of the move.
    private func places(_ from: Scene, _ to: Scene, _ fraction: Double) -> [Placement.Rectangle] {
        (from.layers + to.layers).map { layer in
            func place(_ scene: Scene) -> Placement? { scene.layers.first { $0.video == layer.video }?.placement }
            func middle(_ place: Placement) -> Placement {
                var vanished = place
                let whole = place.destination
                vanished.destination = .init(
                    x: whole.x + whole.width / 2, y: whole.y + whole.height / 2, width: 0, height: 0)
                vanished.shape?.area = vanished.destination
                return vanished
            }
            let (old, new) = (place(from), place(to))
            let start = old ?? new.map { $0 == .full ? $0 : middle($0) } ?? .full
            let end = new ?? old.map { $0 == .full ? $0 : middle($0) } ?? .full
            let place = start.interpolated(to: end, fraction: fraction)
            guard case .still(let frame) = layer.video, let region = frame.region, let shape = place.shape else {
                return place.destination
            }
            return shape.places(of: .init(region, of: (width, height))).destination
        }
    }

    /// Whether an edge passes over the pixel, or nearly, between two positions.
    private func isSwept(_ x: Int, _ y: Int, _ before: [Placement.Rectangle], _ after: [Placement.Rectangle]) -> Bool {
        zip(before, after).contains { before, after in
            func inside(_ place: Placement.Rectangle, by margin: Double) -> Bool {
                let (x, y) = (Double(x) + 0.5, Double(y) + 0.5)
                return x > place.x * Double(width) + margin && x < (place.x + place.width) * Double(width) - margin
                    && y > place.y * Double(height) + margin && y < (place.y + place.height) * Double(height) - margin
            }
            let isNear = inside(before, by: -Self.margin) || inside(after, by: -Self.margin)
            return isNear && !(inside(before, by: Self.margin) && inside(after, by: Self.margin))
        }
    }

    /// Returns the largest change, from one frame to the next, of a pixel that no edge passes on the way.
    private func largestStep(
        _ frames: ArraySlice<PlainFrame>, _ places: [[Placement.Rectangle]]
    ) -> Int {
        var largest = 0
        for step in 0..<frames.count - 1 {
            let (before, after) = (frames[frames.startIndex + step].y, frames[frames.startIndex + step + 1].y)
            // If a flat area jumps, all of its pixels do, so every fifth pixel is enough.
            for y in stride(from: 0, to: height, by: 5) {
                for x in stride(from: 0, to: width, by: 5) {
                    let difference = abs(Int(before[x, y]) - Int(after[x, y]))
                    if difference > largest, !isSwept(x, y, places[step], places[step + 1]) { largest = difference }
                }
            }
        }
        return largest
    }

    /// Returns the largest step of a move from one scene to the other, including both.
    private func largestStep(_ from: Scene, _ to: Scene) -> Int {
        let frames = screen.play(from, [change(2, to)], count: Self.length + 4).frames
        let places = (0...Self.length + 1).map { self.places(from, to, Double($0) / Double(Self.length + 1)) }
        return largestStep(frames[1...Int(Self.length) + 2], places)
    }

    /// The largest allowed step: that of a fade from the darkest to the brightest, plus rounding.
    private var bound: Int { (200 - 16) / Int(Self.length + 1) + 3 }

    @Test("When two layers exchange their depth, neither covers the other at once")
    func swapped() {
        #expect(largestStep(.stills(.pip, [a, b]), .stills(.pip, [b, a])) <= bound)
    }

    @Test("An inset grows over the other layer, which stays in place, and shrinks back")
    func grows() {
        let (pip, single) = (Scene.stills(.pip, [a, b]), Scene.stills(.single, [b]))
        #expect(largestStep(pip, single) <= bound && largestStep(single, pip) <= bound)
        let frames = screen.play(pip, [change(2, single)], count: Self.length + 4).frames
        // The part of the frame that the inset does not cover yet shows the first layer.
        #expect((2...20).allSatisfy { frames[$0].y[2, 2] == 60 })
    }

    @Test("An inset becomes halves or grid cells and back without a jump, in either order")
    func parted() {
        let pip = Scene.stills(.pip, [a, b])
        for layout in [SceneLayout.Kind.splitHorizontal, .splitVertical, .grid] {
            for sources in [[a, b], [b, a], [b, c]] {
                let other = Scene.stills(layout, sources)
                #expect(largestStep(pip, other) <= bound, "\(layout)")
                #expect(largestStep(other, pip) <= bound, "back from \(layout)")
            }
        }
        let three = Scene.stills(.grid, [b, c, a])
        #expect(largestStep(.stills(.splitHorizontal, [a, b]), three) <= bound)
        #expect(largestStep(.stills(.single, [c]), three) <= bound)
    }

    @Test("Grid cells that their sources do not fill completely appear and disappear without a jump")
    func shaped() {
        let cells = [a, b, Self.flat(90), Self.flat(180)].map { frame in
            var upright = frame
            upright.region = FrameRegion(x: 110, y: 0, width: 100, height: 180)
            return upright
        }
        let (single, grid) = (Scene.stills(.single, [c]), Scene.stills(.grid, cells))
        #expect(largestStep(single, grid) <= bound && largestStep(grid, single) <= bound)
    }

    @Test("Moving between two layers that fill the frame is a fade, even behind an inset")
    func full() {
        #expect(largestStep(.stills(.single, [a]), .stills(.single, [b])) <= bound)
        #expect(largestStep(.stills(.pip, [a, c]), .stills(.pip, [b, c])) <= bound)
        let frames = screen.play(.stills(.single, [a]), [change(0, .stills(.single, [b]))], count: 13).frames
        #expect(abs(Int(frames[12].y[9, 9]) - (60 + 140 * 13 / 25)) <= 1)
    }

    @Test("A move that interrupts another one begins at the layers' current positions", arguments: 1...length)
    func interrupted(step: Int64) {
        let corner = SceneLayout.Inset(x: 0.025, y: 0.025, width: 0.25)
        let from = Scene.stills(.pip, [a, b])
        let (to, last) = (Scene.stills(.pip, [a, b], inset: corner), Scene.stills(.splitHorizontal, [a, b]))
        let frames = screen.play(from, [change(1, to), change(1 + step, last)], count: 28 + step).frames
        let reached = step == Self.length ? 1 : Double(step) / Double(Self.length + 1)
        let middle = zip(from.layers, to.layers).map { old, new in
            Scene.Layer(old.video, at: old.placement.interpolated(to: new.placement, fraction: reached))
        }
        let places = (0...Self.length + 1).map {
            self.places(Scene(layers: middle, audio: []), last, Double($0) / Double(Self.length + 1))
        }
        let before = step == Self.length ? Int(step) + 1 : Int(step)
        #expect(largestStep(frames[before...Int(step) + 25], Array(places[(before - Int(step))...])) <= bound)
        #expect(frames.last == screen.play(last, [], count: 1).frames[0])
    }

    @Test(
        "If an exchange of two layers' depth is reversed half-way, it returns from its current state",
        arguments: 1..<length)
    func takenBack(step: Int64) {
        let (from, to) = (Scene.stills(.pip, [a, b]), Scene.stills(.pip, [b, a]))
        let (frames, held) = screen.play(from, [change(1, to), change(1 + step, from)], count: 28 + step)
        let reached = Double(step) / Double(Self.length + 1)
        let places = (0...Self.length + 1).map {
            self.places(to, from, 1 - reached + reached * Double($0) / Double(Self.length + 1))
        }
        #expect(largestStep(frames[Int(step)...Int(step) + 25], places) <= bound)
        #expect(frames.last == screen.play(from, [], count: 1).frames[0] && held == 0)
    }

    @Test("A cut during a move shows the new scene on the exact frame", arguments: 1...length)
    func cutOff(step: Int64) {
        let changes = [
            change(1, .stills(.splitVertical, [b, a])), change(1 + step, .stills(.single, [c]), frames: 0),
        ]
        let (frames, held) = screen.play(.stills(.pip, [a, b]), changes, count: 4 + step)
        #expect(frames[Int(1 + step)...].allSatisfy { $0 == PlainFrame(c) } && held == 0)
    }
}
