// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import Kernels
@testable import Program

/// Records what goes on air, and calls a closure at a frame.
private final class Screen: ProgramSink {
    let frames = Mutex<[(index: Int64, pts: Int64, width: Int)]>([])
    let samples = Mutex<[Float]>([])
    let at = Mutex<[Int64: @Sendable () -> Void]>([:])

    func encode(_ frame: VideoFrame, at index: Int64) throws {
        frames.withLock { $0.append((index, frame.pts, frame.width)) }
        at.withLock { $0[index] }?()
    }
    func encode(_ audio: AudioBuffer) throws {
        let count = Int64(samples.withLock { $0.count })
        #expect(audio.position == count)
        samples.withLock { $0 += audio.channels[0] }
    }
    func finish() throws {}
}

/// Maps a source's timestamps to the machine's clock unchanged.
private final class PlainTimes: SourceTimes {
    func advance(to moment: MonotonicInstant) {}
    func due(_ time: Timestamp, of track: TrackKind) -> MonotonicInstant? {
        MonotonicInstant(nanoseconds: time.nanoseconds)
    }
    func stretch(of track: TrackKind) -> Double { 0 }
}

@Suite("A program whose scene changes")
struct BusTests {
    private let rate = FrameRate(25)
    private let clock = ManualClock()
    private let screen = Screen()
    private let bus = Bus()

    private static func storage(_ width: Int = 2) -> FrameBuffer {
        FrameBuffer(width: width, height: 2) { $0.initializeMemory(as: UInt8.self, repeating: 0) }
    }

    private func still(_ width: Int) -> VideoFrame {
        VideoFrame(pts: 0, timeBase: rate.timeBase, width: width, height: 2, storage: Self.storage(width))
    }

    private func program(frames: Int64) -> Program {
        Program(
            frameRate: rate, audio: .program, pacing: .realTime(lead: 0), frameLimit: frames, bus: bus,
            sink: screen, clock: clock, logger: Logger(label: "test"))
    }

    private func audio(at position: Int64, count: Int, value: Float) -> AudioBuffer {
        let channel = [Float](repeating: value, count: count)
        return AudioBuffer(position: position, format: .program, channels: [channel, channel])
    }

    private func file(frames: Int64, width: Int = 4, standsUnseen: Bool = false) -> SourceFeed {
        let feed = SourceFeed(
            pacing: .paced, frameRate: rate, audio: .program, standsUnseen: standsUnseen, clock: clock)
        for pts in 0..<frames {
            feed.deliver(
                VideoFrame(pts: pts, timeBase: rate.timeBase, width: width, height: 2, storage: Self.storage(width)))
            feed.deliver(audio(at: pts * 1920, count: 1920, value: Float(pts + 1)))
        }
        return feed
    }

    @Test("While a slate is shown the audio is silent, even if the program has no source")
    func slate() throws {
        bus.show(Scene(video: .still(still(8)), audio: nil))
        let ending = try program(frames: 10).run()
        #expect(ending == .finished)
        #expect(screen.frames.withLock { $0.map(\.width) } == Array(repeating: 8, count: 10))
        #expect(screen.samples.withLock { $0 } == [Float](repeating: 0, count: 19_200))
    }

    @Test("A scene change takes place at the next frame, and the audio changes at the same frame")
    func change() throws {
        let feed = file(frames: 20)
        bus.show(Scene(video: .still(still(8)), audio: nil))
        screen.at.withLock {
            $0[4] = { [bus] in
                bus.add(feed)
                bus.show(Scene(video: .feed(feed), audio: feed))
            }
        }
        _ = try program(frames: 10).run()
        let frames = screen.frames.withLock { $0 }
        #expect(frames.map(\.width) == [8, 8, 8, 8, 8, 4, 4, 4, 4, 4])
        #expect(frames.suffix(5).map(\.pts) == [0, 1, 2, 3, 4])
        let samples = screen.samples.withLock { $0 }
        // The new source fades in within half a frame, from the frame's first sample on.
        #expect(samples[9599] == 0 && samples[9600] > 0 && samples[9601] > samples[9600] && samples.count == 19_200)
        #expect(samples[10_560..<11_520].allSatisfy { $0 == 1 } && samples[11_520] == 2)
    }

    @Test("A file that keeps playing off air is shown at the position that it would have reached on air")
    func standby() throws {
        let feed = file(frames: 20)
        bus.add(feed)
        bus.show(Scene(video: .still(still(8)), audio: nil))
        screen.at.withLock { $0[4] = { [bus] in bus.show(Scene(video: .feed(feed), audio: feed)) } }
        _ = try program(frames: 10).run()
        #expect(screen.frames.withLock { $0.suffix(5).map(\.pts) } == [5, 6, 7, 8, 9])
        #expect(screen.samples.withLock { $0[10_560] } == 6)
    }

    @Test("A file that is paused off air continues at the same position, with its audio")
    func standsUnseen() throws {
        let feed = file(frames: 20, standsUnseen: true)
        bus.add(feed)
        let other = Scene(video: .still(still(8)), audio: nil)
        bus.show(other)
        for frame: FrameIndex in [3, 10] {
            bus.show(Scene(video: .feed(feed), audio: feed), by: Transition(.cut), frames: 0, at: frame)
        }
        bus.show(other, by: Transition(.cut), frames: 0, at: 6)
        _ = try program(frames: 14).run()
        let frames = screen.frames.withLock { $0 }
        #expect(frames.map(\.width) == [8, 8, 8, 4, 4, 4, 8, 8, 8, 8, 4, 4, 4, 4])
        #expect(frames[3..<6].map(\.pts) == [0, 1, 2])
        // The source's frame 3 is not shown: it was played while the source's audio faded out.
        #expect(frames[10...].map(\.pts) == [4, 5, 6, 7])
        let samples = screen.samples.withLock { $0 }
        #expect(samples[3 * 1920 + 1000] == 1 && samples[10 * 1920 + 1000] > 0)
        #expect(samples[7 * 1920..<10 * 1920].allSatisfy { $0 == 0 })
    }

    @Test("A file prepared off air begins exactly at its requested frame, with audio, and its end is known in advance")
    func parked() throws {
        let feed = file(frames: 4)
        feed.park()
        feed.end(.video)
        feed.end(.audio)
        bus.add(feed)
        bus.show(Scene(video: .still(still(8)), audio: nil))
        bus.beforeEachFrame { [bus] frame in
            if frame == 2 { feed.begin(at: 5) }
            if frame == 5 { bus.show(Scene(video: .feed(feed), audio: feed)) }
            if frame == 6 { #expect(feed.end == 9) }
        }
        _ = try program(frames: 8).run()
        let frames = screen.frames.withLock { $0 }
        #expect(frames.map(\.width) == [8, 8, 8, 8, 8, 4, 4, 4] && frames.suffix(3).map(\.pts) == [0, 1, 2])
        let samples = screen.samples.withLock { $0 }
        #expect(samples[9599] == 0 && samples[10_560..<11_520].allSatisfy { $0 == 1 } && samples[11_520] == 2)
    }

    @Test("When a program cuts to a live source on standby, the source is shown at its own time")
    func liveStandby() throws {
        let feed = SourceFeed(pacing: .live(frameRate: rate), frameRate: rate, audio: .program, clock: clock)
        feed.attach(PlainTimes())
        for pts in Int64(0)..<10 {
            feed.deliver(
                VideoFrame(pts: pts, timeBase: rate.timeBase, width: 4, height: 2, storage: Self.storage(4)))
        }
        feed.deliver(audio(at: 0, count: 19_200, value: 1))
        bus.add(feed)
        bus.show(Scene(video: .still(still(8)), audio: nil))
        screen.at.withLock { $0[4] = { [bus] in bus.show(Scene(video: .feed(feed), audio: feed)) } }
        _ = try program(frames: 10).run()
        let frames = screen.frames.withLock { $0 }
        #expect(frames.suffix(5).allSatisfy { $0.pts == $0.index })
        #expect(screen.samples.withLock { $0[10_560...].allSatisfy { $0 == 1 } })
        #expect(feed.status.framesRepeated == 0)
    }

    @Test("A source counts as having video only through frames shown on time, not through late or queued frames")
    func signOfLife() throws {
        let feed = SourceFeed(pacing: .live(frameRate: rate), frameRate: rate, audio: .program, clock: clock)
        feed.attach(PlainTimes())
        bus.add(feed)
        bus.show(Scene(video: .still(still(8)), audio: nil))
        let (rate, storage, clock) = (self.rate, Self.storage(4), self.clock)
        let seen = Mutex<[Int64: MonotonicInstant?]>([:])
        let deliver = { @Sendable (pts: Int64) in
            feed.deliver(VideoFrame(pts: pts, timeBase: rate.timeBase, width: 4, height: 2, storage: storage))
        }
        let look = { @Sendable (index: Int64) in
            seen.withLock { $0[index] = feed.newestVideo(at: clock.now) }
        }
        screen.at.withLock { at in
            at[5] = {
                deliver(0)
                deliver(9)
            }
            at[7] = { look(7) }
            at[10] = { look(10) }
        }
        _ = try program(frames: 12).run()
        #expect(seen.withLock { $0[7] } == .some(nil))
        #expect(seen.withLock { $0[10] } == .some(MonotonicInstant(9, in: rate.timeBase)))
    }

    @Test("If a program falls behind, its sources do not count as lost, because their own times decide")
    func lag() throws {
        let feed = SourceFeed(pacing: .live(frameRate: rate), frameRate: rate, audio: .program, clock: clock)
        feed.attach(PlainTimes())
        for pts in Int64(0)..<20 {
            feed.deliver(
                VideoFrame(pts: pts, timeBase: rate.timeBase, width: 4, height: 2, storage: Self.storage(4)))
        }
        feed.markCaughtUp()
        bus.add(feed)
        bus.show(Scene(video: .feed(feed), audio: feed))
        let age = Mutex<Duration?>(nil)
        let standstill = Mutex<Duration?>(nil)
        let (rate, storage) = (self.rate, Self.storage(4))
        screen.at.withLock { [clock] at in
            at[5] = { clock.advance(by: .milliseconds(300)) }
            at[8] = {
                clock.advance(by: .seconds(3))
                feed.deliver(VideoFrame(pts: 20, timeBase: rate.timeBase, width: 4, height: 2, storage: storage))
                let now = clock.now
                standstill.withLock { $0 = feed.newestVideo(at: now).map { now - $0 } }
            }
            at[7] = {
                let now = clock.now
                age.withLock { $0 = feed.newestVideo(at: now).map { now - $0 } }
            }
        }
        _ = try program(frames: 10).run()
        #expect(age.withLock { $0 } == .zero)
        #expect(standstill.withLock { $0 } == .zero)
    }

    @Test("If a program's first source is closed before it is shown, the program waits for the next scene")
    func closedBeforeTheFirst() throws {
        let feed = SourceFeed(pacing: .live(frameRate: rate), frameRate: rate, audio: .program, clock: clock)
        bus.add(feed)
        bus.show(Scene(video: .feed(feed), audio: feed))
        bus.remove(feed)
        // Regression: the program ended before the next scene could be shown.
        #expect(try ending(showingLater: Scene(video: .still(still(8)), audio: nil)) == .finished)
    }

    @Test("A program that waits for a source without frames shows the next scene instead")
    func replacedBeforeTheFirst() throws {
        let feed = SourceFeed(pacing: .live(frameRate: rate), frameRate: rate, audio: .program, clock: clock)
        bus.add(feed)
        bus.show(Scene(video: .feed(feed), audio: feed))
        #expect(try ending(showingLater: Scene(video: .still(still(8)), audio: nil)) == .finished)
    }

    /// Returns how a program of 5 frames ends if its scene is replaced after 100 ms; it is stopped after 20 s.
    private func ending(showingLater scene: Scene) throws -> Program.Ending {
        let program = program(frames: 5)
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.1) { [bus] in bus.show(scene) }
        DispatchQueue.global().asyncAfter(deadline: .now() + 20) { program.stop() }
        return try program.run()
    }

    @Test("While a file stalls its frame is held; then the file continues at the same position, with its audio")
    func stall() throws {
        let feed = file(frames: 3)
        bus.add(feed)
        bus.show(Scene(video: .feed(feed), audio: feed))
        let rest = [Int64](3..<6)
        let (rate, storage) = (self.rate, Self.storage(4))
        let late = audio(at: 3 * 1920, count: 1920, value: 4)
        screen.at.withLock {
            $0[5] = {
                for pts in rest {
                    feed.deliver(VideoFrame(pts: pts, timeBase: rate.timeBase, width: 4, height: 2, storage: storage))
                }
                feed.deliver(late)
            }
        }
        _ = try program(frames: 9).run()
        #expect(screen.frames.withLock { $0.map(\.pts) } == [0, 1, 2, 2, 2, 2, 3, 4, 5])
        let samples = screen.samples.withLock { $0 }
        #expect(samples[5 * 1920] == 0 && samples[6 * 1920] == 4)
    }

    @Test("After the end of a source its last frame is held, and the program continues")
    func gone() throws {
        let feed = file(frames: 3)
        feed.end(.video)
        feed.end(.audio)
        bus.show(Scene(video: .feed(feed), audio: feed))
        let ending = try program(frames: 6).run()
        #expect(ending == .finished)
        #expect(screen.frames.withLock { $0.map(\.pts) } == [0, 1, 2, 2, 2, 2])
    }

    @Test("A program without a scene waits for one until the program is stopped")
    func waits() throws {
        let program = program(frames: 5)
        let (bus, scene) = (bus, Scene(video: .still(still(8)), audio: nil))
        DispatchQueue.global().async { bus.show(scene) }
        #expect(try program.run() == .finished)
        let other = Program(
            frameRate: rate, audio: .program, pacing: .unpaced, frameLimit: nil, bus: Bus(), sink: screen,
            clock: clock, logger: Logger(label: "test"))
        DispatchQueue.global().async { other.stop() }
        #expect(try other.run() == .stopped)
    }
}
