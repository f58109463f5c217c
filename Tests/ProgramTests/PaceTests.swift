// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import Program

/// Records when each frame goes on air, and blocks its thread once for a while.
private final class StoppingSink: ProgramSink {
    private let clock: ManualClock
    private let stop: (index: Int64, time: Duration)
    private let begun = Mutex<[MonotonicInstant]>([])

    /// The time of each frame.
    var times: [MonotonicInstant] { begun.withLock { $0 } }

    /// Creates a sink that blocks its thread for `time` at frame `index`.
    init(clock: ManualClock, stopping index: Int64, for time: Duration) {
        (self.clock, stop) = (clock, (index, time))
    }

    func encode(_ frame: VideoFrame, at index: Int64) throws {
        begun.withLock { $0.append(clock.now) }
        if index == stop.index { clock.advance(by: stop.time) }
    }
    func encode(_ audio: AudioBuffer) throws {}
    func finish() throws {}
}

@Suite("The pace of a program", .timeLimit(.minutes(2)))
struct PaceTests {
    private let rate = FrameRate(25)
    private let frame = Duration.milliseconds(40)

    /// Returns the times at which a program of `count` frames from a file shows each frame, if its thread is blocked
    /// for `time` at frame 50.
    private func run(_ count: Int64, stoppingFor time: Duration, log: CollectedLog) throws -> [MonotonicInstant] {
        let clock = ManualClock()
        let source = SourceFeed(pacing: .waits, frameRate: rate, audio: .program, clock: clock)
        let sink = StoppingSink(clock: clock, stopping: 50, for: time)
        let program = Program(
            frameRate: rate, audio: .program, pacing: .realTime(lead: 0), frameLimit: nil, videoFeed: source,
            audioFeed: nil, sink: sink, clock: clock, logger: log.logger)
        DispatchQueue(label: "source").async { [rate] in
            let storage = FrameBuffer(width: 2, height: 2) { $0.initializeMemory(as: UInt8.self, repeating: 0) }
            for index in 0..<count {
                while !source.hasRoom(for: .video) { source.waitForRoom(timeout: .seconds(1)) }
                source.deliver(VideoFrame(pts: index, timeBase: rate.timeBase, width: 2, height: 2, storage: storage))
            }
            source.end(.video)
            source.end(.audio)
        }
        _ = try program.run()
        source.close()
        return sink.times
    }

    @Test("After a stall of 15 s a program of a file catches up at 1.25 times its rate, and loses no frame")
    func longStop() throws {
        let log = CollectedLog(from: .notice)
        let times = try run(2000, stoppingFor: .seconds(15), log: log)
        #expect(times.count == 2000)
        let gaps = zip(times[51...], times[52...]).map { $1 - $0 }
        let shortest = try #require(gaps.min())
        #expect(shortest >= frame * 4 / 5)
        // Each frame makes up for 8 ms.
        #expect(times[1000] > .zero + frame * 1000 + .seconds(7))
        #expect(times[1999] - .zero == frame * 1999)
        let warnings = log.lines(containing: "more than 1 s behind")
        #expect(warnings.count == 1 && warnings.first?.contains("stood still for 15.0 s") == true)
        #expect(log.lines(containing: "encoder").isEmpty)
        #expect(log.lines(containing: "has caught up").count == 1)
    }

    @Test("After a stall of 0.4 s a program of a file catches up at once")
    func shortStop() throws {
        let log = CollectedLog(from: .notice)
        let times = try run(100, stoppingFor: .milliseconds(400), log: log)
        #expect(times[51..<60].allSatisfy { $0 == .zero + frame * 50 + .milliseconds(400) })
        #expect(times[99] - .zero == frame * 99 && log.lines.isEmpty)
    }

    @Test(
        "The log gives the reason why a program falls behind",
        arguments: [
            (Pace.Cost.encoder, Duration.milliseconds(60), "the encoder cannot keep up"),
            (.source, .milliseconds(60), "the input is read or decoded too slowly"),
            (.source, .seconds(8), "the input gave nothing for 8.0 s"),
            (.sleep, .seconds(8), "the program stood still for 8.0 s"),
        ])
    func reasons(cost: Pace.Cost, time: Duration, reason: String) {
        var pace = Pace(frameRate: rate, pacing: .realTime(lead: 0), start: .zero)
        var lag = Duration.zero
        var changes: [Pace.Change] = []
        for _ in 0..<60 {
            pace.note(cost, took: time)
            lag += time - .milliseconds(40)
            if let change = pace.noteLag(lag) { changes.append(change) }
        }
        #expect(changes.count == 1)
        #expect(changes.first?.level == .warning && changes.first?.text.contains(reason) == true)
    }

    @Test("Delays from before a program was last on time do not count as the reason for a new delay")
    func forgotten() throws {
        var pace = Pace(frameRate: rate, pacing: .realTime(lead: 0), start: .zero)
        pace.note(.source, took: .seconds(3))
        let behind = pace.noteLag(.seconds(3))
        let caughtUp = pace.noteLag(.zero)
        #expect(behind?.text.contains("gave nothing for 3.0 s") == true && caughtUp?.level == .notice)
        for _ in 0..<30 { pace.note(.encoder, took: .milliseconds(80)) }
        let again = pace.noteLag(.milliseconds(1200))
        #expect(again?.text.contains("the encoder cannot keep up") == true)
    }
}
