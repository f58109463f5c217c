// SPDX-License-Identifier: Apache-2.0

import FrameSamples
import Media
import Testing

@testable import Kernels
@testable import Program

@Suite("Interrupted transitions")
struct InterruptionTests {
    /// The length of a transition in frames: a second.
    private static let length: Int64 = 30
    private static let kinds = Transition.Kind.allCases.filter { $0 != .cut }

    private let screen = AirScreen(width: 48, height: 32)
    private let renderer = TransitionRenderer(width: 48, height: 32)
    private let pool = FramePool(width: 48, height: 32)
    private let images = (0..<4).map { PlainFrame(width: 48, height: 32, seed: UInt64($0 + 1)) }
    private let stills: [VideoFrame]

    init() { stills = images.map(\.frame) }

    private func single(_ number: Int) -> Scene { .stills(.single, [stills[number]]) }

    /// Returns the first frame of a transition that starts from `frame`.
    private func first(_ frame: PlainFrame, _ next: Int, _ transition: Transition) -> PlainFrame {
        var canvas = pool.canvas()
        renderer.render(
            frame.frame, stills[next], transition, progress: 1 / Double(Self.length + 1), into: &canvas)
        return PlainFrame(canvas.finish(pts: 0, timeBase: .milliseconds))
    }

    private func change(_ frame: Int64, _ scene: Scene, _ kind: Transition.Kind) -> AirScreen.Change {
        .init(frame: frame, scene: scene, transition: Transition(kind), frames: kind == .cut ? 0 : Self.length)
    }

    @Test(
        "A transition that interrupts another one, at any frame, starts from the frame that is visible then",
        arguments: kinds)
    func byAnother(kind: Transition.Kind) throws {
        let place = try #require(Self.kinds.firstIndex(of: kind))
        for step in 1...Self.length {
            let other = Self.kinds[(place + Int(step)) % Self.kinds.count]
            let (frames, held) = screen.play(
                single(0), [change(2, single(1), kind), change(2 + step, single(2), other)], count: 36 + step)
            let at = Int(2 + step)
            // After the last frame of the first transition its whole scene is visible.
            let before = step == Self.length ? images[1] : frames[at - 1]
            #expect(frames[at] == first(before, 2, Transition(other)), "\(other) at frame \(step)")
            #expect(frames.last == images[2] && held == 0)
        }
    }

    @Test(
        "A cut that interrupts a transition, at any frame, shows the new scene on the requested frame",
        arguments: kinds)
    func byACut(kind: Transition.Kind) {
        for step in 1...Self.length {
            let (frames, held) = screen.play(
                single(0), [change(2, single(1), kind), change(2 + step, single(2), .cut)], count: 8 + step)
            #expect(frames[Int(1 + step)] != images[2])
            #expect(frames[Int(2 + step)...].allSatisfy { $0 == images[2] } && held == 0, "frame \(step)")
        }
    }

    @Test("A transition that has interrupted another one can be interrupted itself", arguments: kinds)
    func twice(kind: Transition.Kind) throws {
        let place = try #require(Self.kinds.firstIndex(of: kind))
        let (second, third) = (Self.kinds[(place + 7) % Self.kinds.count], Self.kinds[(place + 12) % Self.kinds.count])
        for step in 1..<Self.length {
            let (frames, held) = screen.play(
                single(0),
                [
                    change(2, single(1), kind), change(12, single(2), second), change(12 + step, single(3), third),
                ], count: 46 + step)
            #expect(frames[12] == first(frames[11], 2, Transition(second)))
            #expect(frames[Int(12 + step)] == first(frames[Int(11 + step)], 3, Transition(third)), "frame \(step)")
            #expect(frames.last == images[3] && held == 0)
        }
    }
}
