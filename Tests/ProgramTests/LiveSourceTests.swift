// SPDX-License-Identifier: Apache-2.0

import Logging
import Media
import Synchronization
import Testing

@testable import Program

/// A live source whose clock differs from ours by `rate`, and whose frames and audio arrive in time on a manual clock.
private final class ManualLiveSource: SourceTimes, MonotonicClock {
    struct State {
        var now = MonotonicInstant.zero
        var delivered: Int64 = 0
        var step: Duration = .zero
    }

    private static let storage = FrameBuffer(width: 2, height: 2) {
        $0.initializeMemory(as: UInt8.self, repeating: 0)
    }
    let frameRate: FrameRate
    let rate: Double
    let phase: Duration
    let feed = Mutex<SourceFeed?>(nil)
    let state = Mutex(State())

    init(frameRate: FrameRate, rate: Double = 0, phase: Duration = .zero) {
        (self.frameRate, self.rate, self.phase) = (frameRate, rate, phase)
    }

    var now: MonotonicInstant { state.withLock { $0.now } }

    func due(_ time: Timestamp, of track: TrackKind) -> MonotonicInstant? {
        let stretch = Int64((Double(time.nanoseconds) * -rate).rounded())
        return MonotonicInstant(nanoseconds: time.nanoseconds + stretch) + phase + state.withLock { $0.step }
    }
    func stretch(of track: TrackKind) -> Double { -rate }
    func advance(to moment: MonotonicInstant) {}

    /// Delivers the frames that are due up to 200 ms after `deadline`, and advances the clock to `deadline`.
    func sleep(until deadline: MonotonicInstant) {
        deliver(until: deadline + .milliseconds(200))
        state.withLock { $0.now = max($0.now, deadline) }
    }

    func frame(_ pts: Int64) -> VideoFrame {
        VideoFrame(pts: pts, timeBase: frameRate.timeBase, width: 2, height: 2, storage: Self.storage)
    }

    func deliver(until moment: MonotonicInstant) {
        while true {
            let next = state.withLock { $0.delivered }
            let time = Timestamp(next, in: frameRate.timeBase)
            guard let due = due(time, of: .video), due <= moment else {
                feed.withLock { $0 }?.markCaughtUp()
                return
            }
            feed.withLock { $0 }?.deliver(frame(next))
            state.withLock { $0.delivered += 1 }
        }
    }
}

/// A source of 25 frames per second with a backlog from before it was opened: each read of the clock, which stands
/// still, decodes a frame.
private final class BacklogSource: SourceTimes, MonotonicClock {
    private static let storage = FrameBuffer(width: 2, height: 2) {
        $0.initializeMemory(as: UInt8.self, repeating: 0)
    }
    private let count: Int64
    private let newestDue: Duration
    private let state = Mutex((delivered: Int64(0), isDelivering: false))
    let feed = Mutex<SourceFeed?>(nil)

    init(frames count: Int64, newestDue: Duration) { (self.count, self.newestDue) = (count, newestDue) }

    var now: MonotonicInstant {
        deliver()
        return .zero
    }
    func sleep(until deadline: MonotonicInstant) {}

    func deliver() {
        guard let feed = feed.withLock({ $0 }) else { return }
        let pts = state.withLock { state -> Int64? in
            // The feed reads the clock, too.
            guard state.delivered < count, !state.isDelivering else { return nil }
            state.isDelivering = true
            return state.delivered
        }
        guard let pts else { return }
        feed.deliver(VideoFrame(pts: pts, timeBase: TimeBase(1, 25), width: 2, height: 2, storage: Self.storage))
        if pts + 1 == count { feed.markCaughtUp() }
        state.withLock { $0 = (pts + 1, false) }
    }

    func due(_ time: Timestamp, of track: TrackKind) -> MonotonicInstant? {
        MonotonicInstant(nanoseconds: time.nanoseconds) + newestDue - TimeBase(1, 25).duration(count - 1)
    }
    func stretch(of track: TrackKind) -> Double { 0 }
    func advance(to moment: MonotonicInstant) {}
}

/// Records which frames of the source went on air.
private final class FrameLog: ProgramSink {
    let frames = Mutex<[Int64]>([])
    func encode(_ frame: VideoFrame, at index: Int64) throws { frames.withLock { $0.append(frame.pts) } }
    func encode(_ audio: AudioBuffer) throws {}
    func finish() throws {}
}

@Suite("Live sources in the program")
struct LiveSourceTests {
    private func run(_ source: ManualLiveSource, programRate: FrameRate, frames: Int64) throws -> [Int64] {
        let feed = SourceFeed(
            pacing: .live(frameRate: source.frameRate), frameRate: programRate, audio: .program, clock: source)
        source.feed.withLock { $0 = feed }
        feed.attach(source)
        source.deliver(until: .zero + .milliseconds(200))
        let log = FrameLog()
        let program = Program(
            frameRate: programRate, audio: .program, pacing: .realTime(lead: 0), frameLimit: frames, videoFeed: feed,
            audioFeed: feed, sink: log, clock: source, logger: Logger(label: "test"))
        let ending = try program.run()
        #expect(ending == .finished)
        source.feed.withLock { $0 = nil }
        return log.frames.withLock { $0 }
    }

    @Test(
        "In ten minutes no frame of a live source whose clock deviates is repeated or dropped",
        arguments: [-300e-6, 300e-6], [FrameRate(25), FrameRate(30000, 1001)])
    func drift(rate: Double, frameRate: FrameRate) throws {
        let source = ManualLiveSource(frameRate: frameRate, rate: rate, phase: .milliseconds(13))
        let shown = try run(source, programRate: frameRate, frames: 15_000)
        #expect(shown == Array(shown[0]..<shown[0] + 15_000))
    }

    /// Returns, in seconds, when a program ends if its video follows the machine's clock, and its audio follows a clock
    /// that is off by `rate`.
    private func end(rate: Double, leads: Bool) throws -> Double {
        let video = ManualLiveSource(frameRate: FrameRate(25))
        let feed = SourceFeed(
            pacing: .live(frameRate: FrameRate(25)), frameRate: FrameRate(25), audio: .program, clock: video)
        video.feed.withLock { $0 = feed }
        feed.attach(video)
        video.deliver(until: .zero + .milliseconds(200))
        let audio = SourceFeed(
            pacing: .live(frameRate: nil), frameRate: FrameRate(25), audio: .program, leads: leads, clock: video)
        audio.attach(ManualLiveSource(frameRate: FrameRate(25), rate: rate))
        let program = Program(
            frameRate: FrameRate(25), audio: .program, pacing: .realTime(lead: 0), frameLimit: 15_000, videoFeed: feed,
            audioFeed: audio, sink: FrameLog(), clock: video, logger: Logger(label: "test"))
        _ = try program.run()
        video.feed.withLock { $0 = nil }
        return Double(video.now.nanoseconds) / 1e9
    }

    @Test(
        "A live source can be the reference of the program's clock even if it is not visible",
        arguments: [-300e-6, 300e-6])
    func leader(rate: Double) throws {
        let (free, led) = (try end(rate: rate, leads: false), try end(rate: rate, leads: true))
        // Ten minutes, minus the seconds until the rate is adopted.
        #expect(abs((free - led) - 600 * rate) < 0.002)
    }

    @Test("A live source with half the program's frame rate shows each frame twice")
    func half() throws {
        let shown = try run(ManualLiveSource(frameRate: FrameRate(25)), programRate: FrameRate(50), frames: 100)
        #expect(shown == (0..<100).map { shown[0] + Int64($0 / 2) })
    }

    @Test("A program begins with the first live frame that leaves time for its audio, aligned to that frame")
    func start() throws {
        let source = ManualLiveSource(frameRate: FrameRate(25), phase: .milliseconds(-390))
        let shown = try run(source, programRate: FrameRate(25), frames: 50)
        // The first frame that is not late is frame 10, and the newest one is due in 170 ms.
        #expect(shown == Array(12..<62))
    }

    @Test("If packets have queued up, a program begins only when the newest frame is decoded")
    func backlog() throws {
        let source = BacklogSource(frames: 75, newestDue: .milliseconds(200))
        let feed = SourceFeed(
            pacing: .live(frameRate: FrameRate(25)), frameRate: FrameRate(25), audio: .program, clock: source)
        feed.attach(source)
        source.feed.withLock { $0 = feed }
        source.deliver()
        let start = feed.waitForFirstFrame(while: { true })
        source.feed.withLock { $0 = nil }
        #expect(start == .zero + .milliseconds(120))
    }

    @Test("While a live source's decoder catches up, a frame that is decoded just after it was due is still shown")
    func backlogOnAir() {
        let source = ManualLiveSource(frameRate: FrameRate(25))
        let feed = SourceFeed(
            pacing: .live(frameRate: FrameRate(25)), frameRate: FrameRate(25), audio: .program, clock: source)
        feed.attach(source)
        feed.follow(ProgramClockLine(origin: .zero, image: .zero, rate: 0))
        source.feed.withLock { $0 = feed }
        feed.markBehind()
        feed.deliver(source.frame(0))
        // Frame 1 is due, and not decoded yet.
        #expect(feed.frame(for: 1)?.frame.pts == 0)
        feed.deliver(source.frame(1))
        feed.deliver(source.frame(2))
        feed.markCaughtUp()
        #expect(feed.frame(for: 2)?.frame.pts == 2)
        #expect(feed.frame(for: 3)?.frame.pts == 2)
        feed.markBehind()
        feed.deliver(source.frame(3))
        source.state.withLock { $0.now = .zero + .milliseconds(400) }
        // The program does not wait for ever for a decoder that never finishes.
        #expect(feed.frame(for: 4)?.frame.pts == 3)
        source.feed.withLock { $0 = nil }
    }

    @Test("If a source reconnects with twice the frame rate, its frames are shown in order")
    func twiceTheRate() throws {
        let (source, rate) = (ManualLiveSource(frameRate: FrameRate(60)), FrameRate(30))
        let feed = SourceFeed(pacing: .live(frameRate: rate), frameRate: rate, audio: .program, clock: source)
        feed.attach(source)
        feed.follow(ProgramClockLine(origin: .zero, image: .zero, rate: 0))
        source.feed.withLock { $0 = feed }
        for index in Int64(0)..<90 {
            let moment = MonotonicInstant(index, in: rate.timeBase)
            source.deliver(until: moment + .seconds(1))
            source.state.withLock { $0.now = moment }
            let shown = try #require(feed.frame(for: FrameIndex(index))).frame.pts
            #expect(abs(shown - 2 * index) <= 1, "frame \(index)")
        }
        source.feed.withLock { $0 = nil }
    }

    @Test("If the due times of a source's frames change, this applies to queued frames, and late frames are dropped")
    func steps() throws {
        var frames = LiveFrames(frameRate: FrameRate(25))
        let storage = FrameBuffer(width: 2, height: 2) { $0.initializeMemory(as: UInt8.self, repeating: 0) }
        for pts in Int64(0)..<6 {
            frames.add(
                VideoFrame(pts: pts, timeBase: TimeBase(1, 25), width: 2, height: 2, storage: storage), limit: 100)
        }
        let line = ProgramClockLine(origin: .zero, image: .zero, rate: 0)
        var step = Duration.zero
        func shown(at index: Int64) -> Int64? {
            let choice = frames.choose(for: FrameIndex(index), on: line) {
                MonotonicInstant($0.pts, in: $0.timeBase) + step
            }
            return choice?.frame.pts
        }
        #expect(shown(at: 0) == 0)
        #expect(shown(at: 1) == 1)
        step = .milliseconds(80)
        #expect(shown(at: 2) == 1)
        #expect(shown(at: 3) == 1)
        #expect(shown(at: 4) == 2)
        #expect(frames.repeated == 2 && frames.dropped == 0)
        // The program skipped two frames.
        #expect(shown(at: 7) == 5)
        #expect(frames.dropped == 2)
    }

    @Test("If the due times of a source's audio change, its queued audio is moved to the new times")
    func audioSteps() {
        var store = AudioStore(format: .program)
        let ones = [Float](repeating: 1, count: 100)
        _ = store.add(AudioBuffer(position: 0, format: .program, channels: [ones, ones]))
        _ = store.take(upTo: 40)
        #expect(store.move(by: 10) == 0)
        let (later, silence) = store.take(upTo: 60)
        #expect(silence == 10)
        #expect(later.channels[0] == [Float](repeating: 0, count: 10) + [Float](repeating: 1, count: 10))
        #expect(store.move(by: -30) == 30)
        #expect(store.end == 80)
    }
}
