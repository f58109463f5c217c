// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import Program

/// Records what goes on air.
private final class AirCheck: ProgramSink {
    struct State {
        var frames: [(index: Int64, pts: Int64)] = []
        var samples: [Float] = []
        var isFinished = false
        var times: [MonotonicInstant] = []
    }
    let state = Mutex(State())
    let clock: any MonotonicClock

    init(clock: any MonotonicClock) { self.clock = clock }

    func encode(_ frame: VideoFrame, at index: Int64) throws {
        state.withLock {
            $0.frames.append((index, frame.pts))
            $0.times.append(clock.now)
        }
    }
    func encode(_ audio: AudioBuffer) throws { state.withLock { $0.samples += audio.channels[0] } }
    func finish() throws { state.withLock { $0.isFinished = true } }
}

@Suite("Program")
struct ProgramTests {
    private static let storage = FrameBuffer(width: 2, height: 2) {
        $0.initializeMemory(as: UInt8.self, repeating: 0)
    }
    private let rate = FrameRate(30000, 1001)

    private func feed(_ feed: SourceFeed, frames: Int64, samples: Int64) {
        for index in 0..<frames {
            while !feed.hasRoom(for: .video) { feed.waitForRoom(timeout: .seconds(1)) }
            feed.deliver(
                VideoFrame(pts: index, timeBase: rate.timeBase, width: 2, height: 2, storage: Self.storage))
            let end = min(samples, rate.timeBase.rescale(index + 1, to: AudioFormat.program.timeBase))
            let start = min(samples, rate.timeBase.rescale(index, to: AudioFormat.program.timeBase))
            let channel = [Float](repeating: 1, count: Int(end - start))
            if end == samples { feed.end(.audio) }
            if end > start {
                feed.deliver(AudioBuffer(position: start, format: .program, channels: [channel, channel]))
            }
        }
        feed.end(.video)
        feed.end(.audio)
    }

    private func run(
        frames: Int64, samples: Int64 = .max, limit: Int64? = nil, pacing: Program.Pacing = .unpaced,
        clock: ManualClock = ManualClock()
    ) throws -> (AirCheck, Program.Ending) {
        let source = SourceFeed(pacing: .waits, frameRate: rate, audio: .program, clock: clock)
        let air = AirCheck(clock: clock)
        let program = Program(
            frameRate: rate, audio: .program, pacing: pacing, frameLimit: limit, videoFeed: source, audioFeed: source,
            sink: air, clock: clock, logger: Logger(label: "test"))
        DispatchQueue(label: "source").async { feed(source, frames: frames, samples: samples) }
        let ending = try program.run()
        source.close()
        return (air, ending)
    }

    @Test("All frames and all audio samples of a file are on air, unchanged")
    func wholeFile() throws {
        let (air, ending) = try run(frames: 300)
        #expect(ending == .finished)
        air.state.withLock { state in
            #expect(state.frames.map(\.index) == Array(0..<300))
            #expect(state.frames.map(\.pts) == Array(0..<300))
            #expect(state.samples.count == 480_480)
            #expect(state.samples.allSatisfy { $0 == 1 })
            #expect(state.isFinished)
        }
    }

    @Test("If audio ends before the video, silence follows up to the last frame")
    func shortAudio() throws {
        let (air, _) = try run(frames: 60, samples: 48_000)
        air.state.withLock { state in
            #expect(state.frames.count == 60)
            #expect(state.samples.count == 96_096)
            #expect(state.samples[47_999] == 1)
            #expect(state.samples[48_000...].allSatisfy { $0 == 0 })
        }
    }

    @Test("A program with a frame limit ends exactly at that frame")
    func limit() throws {
        let (air, ending) = try run(frames: 300, limit: 100)
        #expect(ending == .finished)
        #expect(air.state.withLock { $0.frames.count } == 100)
    }

    @Test("A program whose source has no frame ends as empty")
    func empty() throws {
        let (air, ending) = try run(frames: 0)
        #expect(ending == .empty)
        #expect(air.state.withLock { $0.frames.isEmpty })
    }

    @Test("A program that runs in real time outputs each frame earlier than its time by the configured lead")
    func pacing() throws {
        let (air, _) = try run(frames: 90, pacing: .realTime(lead: 10))
        air.state.withLock { state in
            for (index, time) in state.times.enumerated() {
                let due = rate.timeBase.rescale(Int64(index) - 10, to: .nanoseconds, rounding: .down)
                #expect(time.nanoseconds == max(0, due))
            }
        }
    }

    @Test("Frames that are output within the lead do not count as late, however long the lead is")
    func leadIsNoLag() {
        var pace = Pace(frameRate: rate, pacing: .realTime(lead: 60), start: MonotonicInstant(nanoseconds: 1000))
        for index in Int64(0)..<61 {
            let moment = pace.moment(of: FrameIndex(index))
            #expect(moment == MonotonicInstant(nanoseconds: 1000))
            let change = pace.noteLag(.zero)
            #expect(change == nil)
        }
        let paced = pace.moment(of: 90)
        #expect(paced == MonotonicInstant(nanoseconds: 1_001_001_000))
    }

    @Test("The last frame is held while audio is longer than video, unless that is only container padding")
    func longAudio() throws {
        for (extra, frames) in [(Int64(4000), 30), (48_048, 60)] {
            let source = SourceFeed(pacing: .waits, frameRate: rate, audio: .program, clock: ManualClock())
            let air = AirCheck(clock: ManualClock())
            let program = Program(
                frameRate: rate, audio: .program, pacing: .unpaced, frameLimit: nil, videoFeed: source,
                audioFeed: source,
                sink: air, clock: ManualClock(), logger: Logger(label: "test"))
            DispatchQueue(label: "source").async {
                for index in Int64(0)..<30 {
                    while !source.hasRoom(for: .video) { source.waitForRoom(timeout: .seconds(1)) }
                    source.deliver(
                        VideoFrame(pts: index, timeBase: rate.timeBase, width: 2, height: 2, storage: Self.storage))
                    source.deliver(AudioBuffer.silence(at: index * 1601, count: 1602, format: .program))
                }
                source.end(.video)
                source.deliver(AudioBuffer.silence(at: 48_048, count: Int(extra), format: .program))
                source.end(.audio)
            }
            _ = try program.run()
            #expect(air.state.withLock { $0.frames.count } == frames)
        }
    }
}
