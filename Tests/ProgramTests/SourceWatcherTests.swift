// SPDX-License-Identifier: Apache-2.0

import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import Kernels
@testable import Program

private final class Nowhere: ProgramSink {
    let at = Mutex<[Int64: @Sendable () -> Void]>([:])

    func encode(_ frame: VideoFrame, at index: Int64) throws { at.withLock { $0[index] }?() }
    func encode(_ audio: AudioBuffer) throws {}
    func finish() throws {}
}

private final class Watcher: SourceWatcher {
    let taken = Mutex<[(index: Int64, pts: Int64?, audio: AudioBuffer)]>([])

    func take(_ frame: VideoFrame?, _ audio: AudioBuffer, at index: FrameIndex) {
        taken.withLock { $0.append((index.number, frame?.pts, audio)) }
    }
}

@Suite("Recording the frames of sources")
struct SourceWatcherTests {
    private static let rate = FrameRate(25)
    private let clock = ManualClock()
    private let bus = Bus()
    private let sink = Nowhere()

    /// Returns a source whose audio in frame N has the level N / 100.
    private func source(frames: Int64) -> Bus {
        let feed = SourceFeed(pacing: .paced, frameRate: Self.rate, audio: .program, clock: clock)
        let storage = FrameBuffer(width: 16, height: 16) { $0.initializeMemory(as: UInt8.self, repeating: 0) }
        for pts in 0..<frames {
            feed.deliver(VideoFrame(pts: pts, timeBase: Self.rate.timeBase, width: 16, height: 16, storage: storage))
            let channel = [Float](repeating: Float(pts) / 100, count: 1920)
            feed.deliver(AudioBuffer(position: pts * 1920, format: .program, channels: [channel, channel]))
        }
        let source = Bus()
        source.add(feed)
        source.show(Scene(video: .feed(feed), audio: feed))
        bus.add(source)
        return source
    }

    private func scene(_ source: Bus) -> Scene {
        Scene(layers: [Scene.Layer(.source(source))], audio: [.source(source)])
    }

    private func play(_ frames: Int64) throws {
        let program = Program(
            frameRate: Self.rate, audio: .program, pacing: .realTime(lead: 0), frameLimit: frames, bus: bus,
            format: VideoFormat(width: 16, height: 16, frameRate: Self.rate), sink: sink, clock: clock,
            logger: Logger(label: "test"))
        _ = try program.run()
    }

    @Test("A source's recorder gets each frame once, with its audio, whether the source is on air or muted")
    func wholly() throws {
        let (a, b) = (source(frames: 20), source(frames: 20))
        let watchers = [Watcher(), Watcher()]
        bus.show(scene(a))
        bus.watch([(a, watchers[0]), (b, watchers[1])], from: 0)
        b.fader.change { $0.isMuted = true }
        let cuts = [(5, scene(b)), (9, scene(a)), (10, scene(b))]
        for (frame, scene) in cuts { bus.show(scene, by: Transition(.cut), frames: 0, at: FrameIndex(Int64(frame))) }
        try play(20)
        for watcher in watchers {
            let taken = watcher.taken.withLock { $0 }
            #expect(taken.map(\.index) == Array(0..<20) && taken.map(\.pts) == (0..<20).map { $0 })
            for (index, frame) in taken.enumerated() {
                #expect(frame.audio.position == Int64(index) * 1920 && frame.audio.count == 1920)
                #expect(frame.audio.channels[0].allSatisfy { $0 == Float(index) / 100 })
            }
        }
    }

    @Test("A source's recorder on a running program starts at the requested frame, and stops at once when removed")
    func late() throws {
        let (a, b) = (source(frames: 20), source(frames: 20))
        let watchers = [Watcher(), Watcher()]
        bus.show(scene(a))
        sink.at.withLock {
            $0[2] = { [bus] in bus.watch([(a, watchers[0]), (b, watchers[1])], from: 6) }
            $0[11] = { [bus] in bus.unwatch([watchers[0]]) }
        }
        try play(15)
        #expect(watchers[0].taken.withLock { $0.map(\.index) } == Array(6..<12))
        #expect(watchers[1].taken.withLock { $0.map(\.index) } == Array(6..<15))
    }

    @Test("A source's recorder gets silence before the source's first frame, and the last frame after the source's end")
    func without() throws {
        let (a, b, absent) = (source(frames: 20), source(frames: 3), Bus())
        let watchers = [Watcher(), Watcher()]
        bus.add(absent)
        bus.show(scene(a))
        bus.watch([(b, watchers[0]), (absent, watchers[1])], from: 0)
        try play(6)
        #expect(watchers[0].taken.withLock { $0.map(\.pts) } == [0, 1, 2, 2, 2, 2])
        #expect(watchers[1].taken.withLock { $0.allSatisfy { $0.pts == nil && $0.audio.count == 1920 } })
        #expect(watchers[1].taken.withLock { $0.count } == 6)
    }
}
