// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import Kernels
@testable import Program

/// Records luma samples of each frame that goes on air, and its audio, and calls a closure at a frame.
private final class Screen: ProgramSink {
    /// The luma in the middle, in the upper left and in the lower right corner.
    let frames = Mutex<[(index: Int64, middle: UInt8, first: UInt8, last: UInt8)]>([])
    let samples = Mutex<[Float]>([])
    let at = Mutex<[Int64: @Sendable () -> Void]>([:])

    func encode(_ frame: VideoFrame, at index: Int64) throws {
        let found = frame.storage.withPlanes { planes -> (UInt8, UInt8, UInt8) in
            let luma = { (x: Int, y: Int) in
                planes.y.bytes.load(fromByteOffset: y * planes.y.stride + x, as: UInt8.self)
            }
            return (luma(frame.width / 2, frame.height / 2), luma(0, 0), luma(frame.width - 1, frame.height - 1))
        }
        frames.withLock { $0.append((index, found.0, found.1, found.2)) }
        at.withLock { $0[index] }?()
    }
    func encode(_ audio: AudioBuffer) throws { samples.withLock { $0 += audio.channels[0] } }
    func finish() throws {}
}

@Suite("A program of several sources")
struct SceneTests {
    private static let rate = FrameRate(25)
    private static let format = VideoFormat(width: 160, height: 96, frameRate: rate)
    private let clock = ManualClock()
    private let screen = Screen()
    private let bus = Bus()

    /// Returns a source whose frames all have one luma, and whose audio has one level.
    private func source(_ luma: UInt8, level: Float = 0, frames: Int64 = 100) -> Bus {
        let feed = SourceFeed(pacing: .paced, frameRate: Self.rate, audio: .program, clock: clock)
        let storage = FrameBuffer(width: 160, height: 96) { $0.initializeMemory(as: UInt8.self, repeating: luma) }
        for pts in 0..<frames {
            feed.deliver(
                VideoFrame(pts: pts, timeBase: Self.rate.timeBase, width: 160, height: 96, storage: storage))
            let channel = [Float](repeating: level, count: 1920)
            feed.deliver(AudioBuffer(position: pts * 1920, format: .program, channels: [channel, channel]))
        }
        let source = Bus()
        source.add(feed)
        source.show(Scene(video: .feed(feed), audio: feed))
        bus.add(source)
        return source
    }

    private func scene(_ layout: SceneLayout.Kind, _ sources: [Bus]) -> Scene {
        let placements = SceneLayout(layout, sources.indices.map { "\($0)" }).placements(in: .bt709)
        return Scene(
            layers: zip(sources, placements).map { Scene.Layer(.source($0), at: $1) },
            audio: sources.prefix(1).map { .source($0) })
    }

    private func play(_ frames: Int64) throws {
        let program = Program(
            frameRate: Self.rate, audio: .program, pacing: .realTime(lead: 0), frameLimit: frames, bus: bus,
            format: Self.format, sink: screen, clock: clock, logger: Logger(label: "test"))
        _ = try program.run()
    }

    private var middles: [UInt8] { screen.frames.withLock { $0.map(\.middle) } }

    @Test("A cut happens at its requested frame, whether it was requested late or long in advance")
    func cuts() throws {
        let (a, b) = (source(50), source(200))
        bus.show(scene(.single, [a]))
        let (later, back) = (scene(.single, [b]), scene(.single, [a]))
        let named = Mutex<[Int64]>([])
        screen.at.withLock {
            $0[3] = { [bus] in
                let next = bus.show(later, by: Transition(.cut), frames: 0)
                let planned = bus.show(back, by: Transition(.cut), frames: 0, at: 9)
                let past = bus.show(later, by: Transition(.cut), frames: 0, at: 1)
                named.withLock { $0 = [next, planned, past].map(\.number) }
            }
        }
        try play(14)
        #expect(named.withLock { $0 } == [4, 9, 4])
        #expect(
            middles == Array(repeating: 50, count: 4) + Array(repeating: 200, count: 5) + Array(repeating: 50, count: 5)
        )
    }

    @Test(
        "If a source without a slate is absent, the program starts after 10 s with another source's frames",
        arguments: [0, 1])
    func absent(place: Int) throws {
        var sources = [source(50)]
        let away = Bus()
        bus.add(away)
        sources.insert(away, at: place)
        bus.show(scene(.splitHorizontal, sources))
        try play(5)
        let frames = screen.frames.withLock { $0 }
        #expect(frames.count == 5 && clock.now >= 10_000_000_000)
        #expect(frames.allSatisfy { (place == 0 ? $0.last : $0.first) == 50 })
    }

    @Test("A fade has equal steps from the first frame to the last, and its audio keeps its power")
    func fade() throws {
        let (a, b) = (source(40, level: 0.5), source(240))
        bus.show(scene(.single, [a]))
        let next = scene(.single, [b])
        screen.at.withLock { $0[4] = { [bus] in bus.show(next, by: Transition(.fade), frames: 9) } }
        try play(20)
        let seen = middles
        #expect(seen[..<5].allSatisfy { $0 == 40 } && seen[14...].allSatisfy { $0 == 240 })
        for (step, luma) in seen[5..<14].enumerated() { #expect(abs(Int(luma) - (40 + 20 * (step + 1))) <= 1) }
        let samples = screen.samples.withLock { $0 }
        #expect(samples[..<9600].allSatisfy { $0 == 0.5 } && samples[26_880...].allSatisfy { $0 == 0 })
        let half = samples[9600 + 4 * 1920 + 960]
        #expect(abs(half - 0.5 * 0.707) < 0.01)
        #expect(zip(samples[9600...], samples[9601...]).allSatisfy { $0 >= $1 })
    }

    @Test("If frames were skipped, the audio of a following cut still fades within half a frame")
    func lateCut() throws {
        let (a, b) = (source(40, level: 0.5), source(240))
        bus.show(scene(.single, [a]))
        let next = scene(.single, [b])
        screen.at.withLock {
            $0[4] = { [bus, clock] in
                bus.show(next)
                clock.advance(by: .seconds(1))
            }
        }
        try play(40)
        let samples = screen.samples.withLock { $0 }
        #expect(samples[..<9600].allSatisfy { $0 == 0.5 } && samples[9600] < 0.5)
        #expect(samples[10_560...].allSatisfy { $0 == 0 })
        #expect(samples.count == 76_800, "with what was skipped")
    }

    @Test("The program's audio has its own level meter")
    func meter() throws {
        let (a, b) = (source(40, level: 0.5), source(240, level: 0.125))
        bus.show(scene(.single, [b]))
        try play(5)
        #expect(a.meter.levels.allSatisfy { abs($0 + 6.02) < 0.1 })
        #expect(bus.meter.levels.count == 2 && bus.meter.levels.allSatisfy { abs($0 + 18.06) < 0.1 })
    }

    @Test(
        "A transition that interrupts another one starts from the visible state, and ends at its own scene",
        arguments: 0..<12)
    func interrupted(at step: Int64) throws {
        let (a, b, c) = (source(40), source(240), source(120))
        bus.show(scene(.single, [a]))
        let (first, second) = (scene(.single, [b]), scene(.single, [c]))
        screen.at.withLock {
            $0[1] = { [bus] in bus.show(first, by: Transition(.fade), frames: 11) }
            $0[2 + step] = { [bus] in bus.show(second, by: Transition(.fade), frames: 11) }
        }
        try play(30)
        let seen = middles.map(Int.init)
        #expect(zip(seen, seen.dropFirst()).allSatisfy { abs($0 - $1) <= 18 }, "\(seen)")
        #expect(seen.last == 120)
    }

    @Test("A cut in the middle of a transition shows the new scene on the exact frame", arguments: 0..<12)
    func cutOff(at step: Int64) throws {
        let (a, b, c) = (source(40), source(240), source(120))
        bus.show(scene(.single, [a]))
        let (first, second) = (scene(.single, [b]), scene(.single, [c]))
        screen.at.withLock {
            $0[1] = { [bus] in bus.show(first, by: Transition(.fade), frames: 11) }
            $0[2 + step] = { [bus] in bus.show(second) }
        }
        try play(30)
        #expect(middles[Int(2 + step)] != 120 && middles[Int(3 + step)...].allSatisfy { $0 == 120 })
    }

    @Test("An inset moves to a half of the frame, and vanishes when another move interrupts this one")
    func moves() throws {
        let (a, b) = (source(50), source(200))
        bus.show(scene(.pip, [a, b]))
        let (split, single) = (scene(.splitHorizontal, [a, b]), scene(.single, [a]))
        screen.at.withLock {
            $0[2] = { [bus] in bus.show(split, by: Transition(.move), frames: 20) }
            $0[12] = { [bus] in bus.show(single, by: Transition(.move), frames: 5) }
        }
        try play(30)
        let frames = screen.frames.withLock { $0 }
        #expect(frames[2].last == 50 && frames[2].first == 50, "with a margin")
        // The inset reaches the corner half-way, and then shrinks in place.
        #expect(frames.last?.middle == 50 && frames.last?.last == 50)
    }

    @Test("If a transition directly follows another one's last frame, it starts from the complete scene")
    func chained() throws {
        let (a, b, c) = (source(40), source(240), source(120))
        bus.show(scene(.single, [a]))
        let (first, second) = (scene(.single, [b]), scene(.single, [c]))
        bus.show(first, by: Transition(.fade), frames: 5, at: 3)
        bus.show(second, by: Transition(.fade), frames: 5, at: 8)
        try play(20)
        let seen = middles.map(Int.init)
        #expect(seen[8] == 220 || abs(seen[8] - 220) <= 1, "a sixth of the way from 240 to 120: \(seen)")
    }

    @Test("If the next input of a source has no frame yet, the source's last frame is shown")
    func between() throws {
        let (a, b) = (source(50), source(200))
        bus.show(scene(.splitHorizontal, [a, b]))
        let empty = SourceFeed(pacing: .paced, frameRate: Self.rate, audio: .program, clock: clock)
        screen.at.withLock {
            $0[4] = {
                b.add(empty); b.show(Scene(video: .feed(empty), audio: empty))
            }
        }
        try play(10)
        #expect(screen.frames.withLock { $0.allSatisfy { $0.first == 50 && $0.last == 200 } })
    }

    @Test("While a source stalls its last frame is held, without delay for other sources or the transition")
    func stalled() throws {
        let (a, b) = (source(50), source(200, frames: 6))
        bus.show(scene(.splitHorizontal, [a, b]))
        let next = scene(.single, [b])
        screen.at.withLock { $0[10] = { [bus] in bus.show(next, by: Transition(.fade), frames: 5) } }
        try play(25)
        let frames = screen.frames.withLock { $0 }
        #expect(frames.count == 25 && frames[9].first == 50 && frames[9].last == 200)
        #expect(frames[24].first == 200 && frames[24].last == 200)
    }

    @Test("An inset is placed in the named corner of the frame, or at the position x and y")
    func corners() throws {
        func read(_ text: String) throws -> SceneLayout.Inset {
            try JSONDecoder().decode(SceneLayout.Inset.self, from: Data(text.utf8))
        }
        #expect(try read(#"{"corner":"top-left"}"#) == .init(x: 0.025, y: 0.025, width: 0.25))
        #expect(try read(#"{"corner":"bottom-right"}"#) == .standard)
        let wide = try read(#"{"corner":"top-right","width":0.5}"#)
        #expect(wide == .init(x: 0.475, y: 0.025, width: 0.5))
        #expect(try read(#"{"corner":"bottom-left","width":0.5}"#) == .init(x: 0.025, y: 0.475, width: 0.5))
        #expect(try read(String(decoding: JSONEncoder().encode(wide), as: UTF8.self)) == wide)
        #expect(throws: SceneLayout.Fault.self) { try read(#"{"corner":"top-right","y":0.5}"#) }
        #expect(throws: (any Error).self) { try read(#"{"corner":"middle"}"#) }
        #expect(throws: (any Error).self) { try read(#"{"x":0.1,"width":0.5}"#) }
    }

    @Test("A grid has as many rows as its sources need, and is centered in the frame", arguments: 1...9)
    func grid(count: Int) throws {
        let (columns, rows) = [1: (1, 1), 2: (2, 1), 3: (2, 2), 4: (2, 2), 5: (3, 2), 6: (3, 2)][count] ?? (3, 3)
        let places = SceneLayout(.grid, (0..<count).map { "\($0)" }).placements(in: .bt709).map(\.destination)
        let size = 1 / Double(columns)
        #expect(places.allSatisfy { abs($0.width - size) < 1e-9 && abs($0.height - size) < 1e-9 })
        let (first, last) = (try #require(places.first), try #require(places.last))
        #expect(abs(first.y - (1 - Double(rows) * size) / 2) < 1e-9 && abs(first.y + last.y + size - 1) < 1e-9)
        #expect(abs(first.x) < 1e-9 && abs(last.x - Double((count - 1) % columns) * size) < 1e-9)
    }

    @Test("An option that a layout does not have is refused")
    func details() {
        for (kind, count) in [(SceneLayout.Kind.single, 1), (.splitHorizontal, 2), (.splitVertical, 2), (.grid, 2)] {
            let layout = SceneLayout(kind, (0..<count).map { "\($0)" }, inset: .standard)
            #expect(throws: SceneLayout.Fault.self, "\(kind)") { try layout.check() }
        }
        for (kind, count) in [(SceneLayout.Kind.single, 1), (.pip, 2), (.grid, 2), (.slate, 0)] {
            let layout = SceneLayout(kind, (0..<count).map { "\($0)" }, fit: .contain)
            #expect(throws: SceneLayout.Fault.self, "\(kind)") { try layout.check() }
        }
        #expect(throws: Never.self) { try SceneLayout(.splitVertical, ["a", "b"], fit: .crop).check() }
    }

    @Test("A layout with too many sources, or with an inset outside of the frame, is refused")
    func layouts() throws {
        for (layout, count) in [(SceneLayout.Kind.single, 1), (.pip, 2), (.splitVertical, 2), (.grid, 9), (.slate, 0)] {
            let names = (0..<count).map { "cam\($0)" }
            try SceneLayout(layout, names).check()
            #expect(SceneLayout(layout, names).placements(in: .bt709).count == count)
            #expect(throws: SceneLayout.Fault.self) { try SceneLayout(layout, names + ["more"]).check() }
        }
        #expect(throws: SceneLayout.Fault.self) { try SceneLayout(.pip, ["a", "a"]).check() }
        #expect(throws: SceneLayout.Fault.self) {
            try SceneLayout(.pip, ["a", "b"], inset: .init(x: 0.9, y: 0, width: 0.5)).check()
        }
    }
}
