// SPDX-License-Identifier: Apache-2.0

import FrameSamples
import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import Kernels
@testable import Program

/// Records the luma of the upper left pixel of each frame, and calls a closure at a frame.
private final class Corner: ProgramSink {
    let luma = Mutex<[Int]>([])
    let captions = Mutex<[[UInt8]]>([])
    let at = Mutex<[Int64: @Sendable () -> Void]>([:])

    func encode(_ frame: VideoFrame, at index: Int64) throws {
        luma.withLock { $0.append(Int(PlainFrame(frame).y[0, 0])) }
        captions.withLock { $0.append(frame.captions) }
        at.withLock { $0[index] }?()
    }
    func encode(_ audio: AudioBuffer) throws {}
    func finish() throws {}
}

/// A stinger that is opaque in the middle of its duration.
private final class Card: Stinger {
    private final class Storage: AlphaFrameStorage {
        let frame: FrameBuffer
        let alpha: [UInt8]

        init(_ luma: UInt8, alpha: UInt8) {
            frame = FrameBuffer(width: 16, height: 16) { $0.initializeMemory(as: UInt8.self, repeating: luma) }
            self.alpha = Array(repeating: alpha, count: 256)
        }

        func withPlanes<R>(_ body: (Planes) throws -> R) rethrows -> R { try frame.withPlanes(body) }
        func withAlpha<R>(_ body: (Planes.Plane) throws -> R) rethrows -> R {
            try alpha.withUnsafeBytes { bytes in
                guard let base = bytes.baseAddress else { preconditionFailure("an array that is not empty") }
                return try body(.init(bytes: base, stride: 16))
            }
        }
    }

    let frames: Int64 = 6
    let cut: Int64 = 3
    let rewinds = Atomic(0)

    func frame(_ number: Int64) -> VideoFrame? {
        VideoFrame(
            pts: number, timeBase: .milliseconds, width: 16, height: 16,
            storage: Storage(200, alpha: (2...3).contains(number) ? 255 : 0))
    }
    func rewind() { rewinds.add(1, ordering: .relaxed) }
}

@Suite("Overlays and stingers")
struct OverlayTests {
    private let format = VideoFormat(width: 16, height: 16, frameRate: FrameRate(25))
    private let clock = ManualClock()
    private let corner = Corner()
    private let bus = Bus()

    private func still(_ luma: UInt8) -> VideoFrame {
        PlainFrame(width: 16, height: 16, PixelColor(y: luma, u: 128, v: 128)).frame
    }

    private func scene(_ luma: UInt8, _ overlays: [Overlay] = []) -> Scene {
        Scene(layers: [.init(.still(still(luma)))], audio: [], overlays: overlays)
    }

    /// Returns a white overlay that covers the whole frame.
    private func white(isVisible: Bool? = nil) -> Overlay {
        let image = OverlayImage(
            rgba: Array(repeating: 255, count: 16 * 16 * 4), width: 16, height: 16, color: .bt709)
        return Overlay("white", OverlayArt(image, x: 0, y: 0, opacity: 1), isVisible: isVisible)
    }

    private func run(frames: Int64) throws -> [Int] {
        let program = Program(
            frameRate: format.frameRate, audio: .program, pacing: .realTime(lead: 0), frameLimit: frames, bus: bus,
            format: format, sink: corner, clock: clock, logger: Logger(label: "test"))
        _ = try program.run()
        return corner.luma.withLock { $0 }
    }

    @Test("An overlay appears and disappears with its scene: at once with a cut, faded with a transition")
    func comesWithScenes() throws {
        let white = white()
        bus.add(white)
        bus.show(scene(16))
        bus.show(scene(16, [white]), by: Transition(.cut), frames: 0, at: 2)
        bus.show(scene(16), by: Transition(.pushLeft), frames: 4, at: 5)
        let luma = try run(frames: 12)
        #expect(luma[..<2] == [16, 16] && luma[2..<5] == [235, 235, 235])
        // Each frame hides a fifth of the overlay, and the end of the transition hides the rest.
        let faded = [191, 147, 104, 60]
        #expect(zip(luma[5..<9], faded).allSatisfy { abs($0 - $1) <= 2 }, "\(luma)")
        #expect(luma[9...].allSatisfy { $0 == 16 })
    }

    @Test("An overlay that is in both scenes of a transition stays unchanged")
    func standsStill() throws {
        let white = white()
        bus.add(white)
        bus.show(scene(16, [white]))
        bus.show(scene(100, [white]), by: Transition(.fade), frames: 6, at: 2)
        #expect(try run(frames: 12) == Array(repeating: 235, count: 12))
    }

    @Test("A cut removes an overlay that is fading; another transition fades it from its current level")
    func cutWhileFading() throws {
        let white = white()
        bus.add(white)
        bus.show(scene(16, [white]))
        bus.show(scene(16), by: Transition(.fade), frames: 20, at: 2)
        bus.show(scene(100), by: Transition(.cut), frames: 0, at: 5)
        bus.show(scene(16, [white]), by: Transition(.cut), frames: 0, at: 8)
        bus.show(scene(16), by: Transition(.fade), frames: 20, at: 10)
        bus.show(scene(100), by: Transition(.fade), frames: 3, at: 13)
        let luma = try run(frames: 20)
        #expect(luma[2] < 235 && luma[4] > 190 && luma[5..<8] == [100, 100, 100], "\(luma)")
        #expect(luma[8..<10] == [235, 235] && luma[12] > 190, "\(luma)")
        #expect(luma[13] < luma[12] && luma[15] > 100 && luma[16...].allSatisfy { $0 == 100 }, "\(luma)")
    }

    @Test("A cut between scenes does not shorten an operator's fade of an overlay")
    func fadedByHand() throws {
        let white = white()
        bus.add(white)
        bus.show(scene(16))
        #expect(white.show(true, frames: 9, at: 2))
        bus.show(scene(16), by: Transition(.cut), frames: 0, at: 4)
        let luma = try run(frames: 14)
        // Each frame shows another tenth of the overlay.
        let steps = zip(luma[1...], luma[2...11]).map { $1 - $0 }
        #expect(steps.count == 10 && steps.allSatisfy { abs($0 - 22) <= 3 } && luma[11] == 235, "\(luma)")
    }

    @Test("An operator's choice for an overlay applies in all scenes from its frame on, until it is withdrawn")
    func choice() throws {
        let white = white()
        bus.add(white)
        bus.show(scene(16))
        #expect(white.show(true, frames: 3, at: 2))
        #expect(white.show(false, frames: 0, at: 8))
        #expect(white.show(nil, frames: 0, at: 10))
        bus.show(scene(16, [white]), by: Transition(.cut), frames: 0, at: 9)
        let luma = try run(frames: 12)
        #expect(luma[..<2] == [16, 16] && luma[5..<8] == [235, 235, 235] && luma[8..<10] == [16, 16])
        #expect(luma[2] > 60 && luma[2] < luma[3] && luma[3] < luma[4] && luma[4] < 200, "\(luma)")
        #expect(luma[10...] == [235, 235])
    }

    @Test("An overlay that is on from the beginning is not faded in; a new style applies from the next frame on")
    func fromTheBeginning() throws {
        let white = white(isVisible: true)
        bus.add(white)
        bus.show(scene(16))
        let gray = OverlayImage(
            rgba: (0..<256).flatMap { _ in [128, 128, 128, 255] as [UInt8] }, width: 16, height: 16, color: .bt709)
        corner.at.withLock { $0[3] = { white.draw(as: OverlayArt(gray, x: 0, y: 0, opacity: 1)) } }
        let luma = try run(frames: 6)
        #expect(luma == [235, 235, 235, 235, 126, 126])
    }

    @Test("The number of scheduled overlay changes is limited")
    func bounded() {
        let white = white()
        for frame in 1...Overlay.mostChoices { #expect(white.show(true, frames: 0, at: FrameIndex(Int64(frame)))) }
        #expect(!white.show(true, frames: 0, at: 1000))
        #expect(white.show(false, frames: 0, at: 1))
    }

    @Test("A stinger covers both scenes, and video and overlays are cut on one frame behind it")
    func stinger() throws {
        let (white, card) = (white(), Card())
        bus.add(white)
        bus.show(scene(16))
        bus.show(scene(100), by: Transition(.cut), frames: card.frames, stinger: card, at: 2)
        bus.show(scene(50, [white]), by: Transition(.cut), frames: card.frames, stinger: card, at: 10)
        let luma = try run(frames: 20)
        #expect(luma[..<10] == [16, 16, 16, 16, 200, 200, 100, 100, 100, 100], "\(luma)")
        #expect(luma[10...] == [100, 100, 200, 200, 235, 235, 235, 235, 235, 235], "\(luma)")
        #expect(card.rewinds.load(ordering: .relaxed) == 2)
    }

    @Test("If a cut interrupts a stinger, the stinger is rewound, and the new scene is shown")
    func cutOff() throws {
        let card = Card()
        bus.show(scene(16))
        bus.show(scene(100), by: Transition(.cut), frames: card.frames, stinger: card, at: 2)
        bus.show(scene(50), by: Transition(.cut), frames: 0, at: 4)
        let luma = try run(frames: 8)
        #expect(luma == [16, 16, 16, 16, 50, 50, 50, 50])
        #expect(card.rewinds.load(ordering: .relaxed) == 1)
    }

    @Test("If another transition interrupts a stinger, the stinger fades out evenly during that transition")
    func cutOffByAnother() throws {
        let card = Card()
        bus.show(scene(16))
        bus.show(scene(100), by: Transition(.cut), frames: card.frames, stinger: card, at: 2)
        bus.show(scene(50), by: Transition(.fade), frames: 9, at: 5)
        let luma = try run(frames: 16)
        #expect(luma[..<5] == [16, 16, 16, 16, 200] && luma[14...] == [50, 50], "\(luma)")
        #expect(zip(luma[4...], luma[5...14]).allSatisfy { $0 > $1 && $0 - $1 <= 24 }, "\(luma)")
        #expect(card.rewinds.load(ordering: .relaxed) == 1)
    }

    @Test("During a stinger the captions are those of the scene under it")
    func captions() throws {
        func source(_ captions: [UInt8]) -> Bus {
            let feed = SourceFeed(pacing: .paced, frameRate: format.frameRate, audio: .program, clock: clock)
            for pts in 0..<Int64(20) {
                var frame = still(captions[0])
                (frame.pts, frame.timeBase, frame.captions) = (pts, format.frameRate.timeBase, captions)
                feed.deliver(frame)
            }
            feed.end(.audio)
            let source = Bus()
            source.add(feed)
            source.show(Scene(video: .feed(feed), audio: nil))
            bus.add(source)
            return source
        }
        let (first, second) = (source([16, 1, 2]), source([100, 1, 2]))
        bus.show(Scene(layers: [.init(.source(first))], audio: []))
        let next = Scene(layers: [.init(.source(second))], audio: [])
        bus.show(next, by: Transition(.cut), frames: 6, stinger: Card(), at: 2)
        _ = try run(frames: 10)
        let seen = corner.captions.withLock { $0.map(\.first) }
        #expect(seen == Array(repeating: 16, count: 5) + Array(repeating: 100, count: 5))
    }

    @Test("A scheduled scene change can be cancelled until it is on air")
    func withdrawn() throws {
        bus.show(scene(16))
        bus.show(scene(100), by: Transition(.cut), frames: 0, at: 4)
        bus.show(scene(50), by: Transition(.cut), frames: 0, at: 6)
        #expect(bus.withdraw(at: 4) && !bus.withdraw(at: 4) && !bus.withdraw(at: 5))
        #expect(try run(frames: 8) == [16, 16, 16, 16, 16, 16, 50, 50])
        #expect(!bus.withdraw(at: 6))
    }
}
