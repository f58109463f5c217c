// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Program

/// The choice of the first frame when a program begins with a live source.
@Suite struct LiveFramesTests {
    private static let storage = FrameBuffer(width: 2, height: 2) {
        $0.initializeMemory(as: UInt8.self, repeating: 0)
    }
    private let rate = FrameRate(50)

    private func due(_ frame: VideoFrame) -> MonotonicInstant? { MonotonicInstant(frame.pts, in: frame.timeBase) }

    /// Returns when a program begins if it waits for its first frame at time 0, and the newest of `count` frames has
    /// arrived.
    private func beginning(_ count: Int64) -> MonotonicInstant? {
        var frames = LiveFrames(frameRate: rate)
        for number in 0..<count {
            let frame = VideoFrame(
                pts: number, timeBase: TimeBase(1, 50), width: 2, height: 2, storage: Self.storage)
            frames.add(frame, limit: 100)
        }
        return frames.firstMoment(after: .zero, due: due)
    }

    @Test("A program begins with a live frame that is due late enough for its audio to be decoded")
    func notice() {
        #expect(beginning(20) == MonotonicInstant(5, in: rate.timeBase))
    }

    @Test(
        "If a live source has little buffer, the program begins with a frame in the middle of the queue",
        arguments: [2, 3, 4, 5])
    func direct(count: Int64) {
        #expect(beginning(count) == MonotonicInstant(count / 2, in: rate.timeBase))
    }

    // Regression: a program that waited for its first frame began with a frame whose timestamp was off by 0.65 s. All
    // other frames were then due 10 ms before program frames began, and audio came 10 ms before its video.
    @Test("A program does not begin with a frame whose timestamp is wrong")
    func wrongTimestamp() throws {
        var random = SeededRandom("a wrong timestamp of a first frame")
        for _ in 0..<300 {
            let interval = random.pick([20, 40] as [Int64])
            // The first frames are late, as those of a source that is being opened.
            let first = -interval * Int64.random(in: 0...20, using: &random)
            // The newest frame also determines how long the program may prepare, so its timestamp is correct.
            let wrong = Int.random(in: 0..<Int((400 - first) / interval) - 1, using: &random)
            let error = Int64.random(in: 100...900, using: &random) * random.pick([-1, 1])
            try expectAligned(interval: interval, first: first, wrong: wrong, error: error)
        }
    }

    // Regression: if the timestamp of one frame was too early, the correct frames before it were taken for wrong ones,
    // and the program began with the wrong frame.
    @Test(
        "No error of a single timestamp makes a program begin between two frames of its source",
        arguments: 0..<19, [-1, 1] as [Int64])
    func everyError(wrong: Int, sign: Int64) throws {
        for error in 41...900 as ClosedRange<Int64> {
            try expectAligned(interval: 40, first: -400, wrong: wrong, error: sign * error)
        }
    }

    /// Expects that a program begins at a multiple of `interval` milliseconds. Frames wait that are due every
    /// `interval` ms, from `first` to 400 ms. Only frame number `wrong` is due `error` ms too late.
    private func expectAligned(interval: Int64, first: Int64, wrong: Int, error: Int64) throws {
        let count = Int((400 - first) / interval)
        var frames = LiveFrames(frameRate: rate)
        for number in 0..<count {
            let time = first + Int64(number) * interval + (number == wrong ? error : 0)
            frames.add(
                VideoFrame(pts: time, timeBase: TimeBase(1, 1000), width: 2, height: 2, storage: Self.storage),
                limit: 100)
        }
        let found = frames.firstMoment(after: .zero, due: due)
        let moment = try #require(found).nanoseconds / 1_000_000
        #expect(
            moment % interval == 0 && (100..<400).contains(moment),
            "\(moment) ms, if frame \(wrong) of \(count) is off by \(error) ms")
    }

    /// Shows 60 program frames while frames of `source` arrive just in time, except those in `missing`. Returns the
    /// number of repeated frames, and of late ones among them.
    private func counts(source: Int32, missing: Range<Int64> = 0..<0) -> (repeated: Int, late: Int) {
        var frames = LiveFrames(frameRate: rate)
        let line = ProgramClockLine(origin: .zero, image: .zero, rate: 0)
        var next: Int64 = 0
        for index in 0..<60 {
            let end = rate.start(of: FrameIndex(Int64(index) + 1))
            while ProgramInstant(next, in: TimeBase(1, source)) < end {
                let frame = VideoFrame(
                    pts: next, timeBase: TimeBase(1, source), width: 2, height: 2, storage: Self.storage)
                if !missing.contains(next) { frames.add(frame, limit: 100) }
                next += 1
            }
            _ = frames.choose(for: FrameIndex(Int64(index)), on: line, due: due)
        }
        return (frames.repeated, frames.late)
    }

    @Test(
        "A repetition counts as late if the source's next frame is due and missing, but not if the source's rate is low"
    )
    func counted() {
        #expect(counts(source: 50) == (0, 0))
        #expect(counts(source: 25) == (30, 0))
        #expect(counts(source: 30).late == 0)
        // For ten program frames there is no source frame.
        #expect(counts(source: 50, missing: 20..<30) == (10, 10))
        // Each source frame is shown twice, and five are missing.
        #expect(counts(source: 25, missing: 10..<15) == (35, 10))
    }

    /// Returns how many of 600 frames are still waiting if they arrive `interval` sixtieths of a second apart and none
    /// is taken.
    private func waiting(interval: Int64) -> Int {
        var frames = LiveFrames(frameRate: rate)
        for number in 0..<Int64(600) {
            let frame = VideoFrame(
                pts: number * interval, timeBase: TimeBase(1, 60), width: 2, height: 2, storage: Self.storage)
            frames.add(frame, limit: 200)
        }
        return 600 - frames.dropped
    }

    @Test("At most 1.5 s of a live source's frames are queued, or a few frames if its rate is low")
    func room() {
        #expect(waiting(interval: 1) == 91)
        #expect(waiting(interval: 2) == 46)
        #expect(waiting(interval: 120) == 16)
        #expect(waiting(interval: 0) == 200)
        #expect(waiting(interval: -1) == 200)
    }

    @Test("A program begins at once with a single late frame of a live source, but not without a frame")
    func late() {
        #expect(beginning(1) == .zero)
        #expect(beginning(0) == nil)
    }

    // Regression: a reference's frames approach the middle of their ticks by at most 1000 ppm; until they were there,
    // the frames of other sources that were shown with them were up to a whole frame older or newer.
    @Test(
        "Simultaneous frames of a source and a new reference are shown together, whatever the reference's phase",
        arguments: [-9, -4, 0, 6, 9], [-8, -3, 2, 8])
    func pairing(phase: Int64, distance: Int64) throws {
        var clock = ReferenceClock(frameRate: rate, start: .zero)
        clock.follow(1, sourceRate: rate)
        var (reference, other) = (LiveFrames(frameRate: rate), LiveFrames(frameRate: rate))
        reference.isReference = true
        var pairs: [Int64] = []
        for number in 0..<3000 {
            let index = FrameIndex(Int64(number))
            let now = clock.moment(of: index)
            clock.advance(to: now)
            let frame = VideoFrame(
                pts: index.number, timeBase: TimeBase(1, 50), width: 2, height: 2, storage: Self.storage)
            reference.add(frame, limit: 100)
            other.add(frame, limit: 100)
            // The frames of both sources were captured at the same rate, and arrive in the same way.
            let shown = reference.choose(for: index, on: clock.line) { due($0).map { $0 + .milliseconds(phase) } }
            if let due = shown?.newlyDue { clock.note(1, due: due, stretch: 0, now: now) }
            other.referencePhase = .nanoseconds(Int64(clock.steadyPhase))
            let beside = other.choose(for: index, on: clock.line) {
                due($0).map { $0 + .milliseconds(phase + distance) }
            }
            guard let one = shown?.frame.pts, let two = beside?.frame.pts, number > 1 else { continue }
            pairs.append(two - one)
        }
        #expect(Set(pairs) == [0] && pairs.count > 2990)
        #expect(abs(clock.phase) < 1_000_000, "the clock came to the reference")
    }
}
