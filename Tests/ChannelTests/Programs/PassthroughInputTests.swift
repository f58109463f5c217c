// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Ingest
import Media
import SourceClock
import Synchronization
import TestSupport
import Testing

@testable import Channel

@Suite("One opening of an input of a copied program")
struct PassthroughInputTests {
    private static let location = "srt://cam:9000"
    private let sender = FakeSender(1)

    /// A program that has not begun, and an input of it that can wait.
    private struct Bench {
        let bench: PassthroughBench
        let input: PassthroughInput
        var passthrough: Passthrough { bench.passthrough }
        /// The number of batches that wait for the program to begin.
        var kept: Int { passthrough.airState.withLock { air in air.takeEarly().count } }
        /// When the input last had video; nil if it has had none, or if its turn has ended.
        var newest: MonotonicInstant? { passthrough.airState.withLock { $0.newest[0] } }
    }

    private func make(isLive: Bool, canWait: Bool = true, clock: any MonotonicClock) throws -> Bench {
        let inputs = FakeInputs()
        inputs.set(Self.location, sender.description(canWait: true))
        var configuration = ChannelConfiguration()
        (configuration.sources, configuration.copying) = ([.init(input: InputLocation(Self.location))], .all)
        let bench = try PassthroughBench(inputs, configuration, clock: clock)
        let description = PacketSourceDescription(
            stream: StreamDescription(video: sender.video, audio: nil), canWait: canWait, isLive: isLive, clock: .file,
            stampBits: nil)
        let turn = bench.passthrough.airState.withLock { air in
            defer { air.splicer.show(0) }
            return air.open(0, description)
        }
        return Bench(bench: bench, input: PassthroughInput(bench.passthrough, turn, description))
    }

    private func frame(_ time: Int64) -> EncodedPacket { sender.packets(at: time)[2] }

    @Test("Only the first packet of a growing playlist waits for its input to go on air, for 0.3 s, and again later")
    func playlist() throws {
        let clock = ManualClock()
        let bench = try make(isLive: true, clock: clock)
        defer { bench.passthrough.stop() }
        bench.input.take(frame(0), at: clock.now)
        #expect(clock.now == 300_000_000)
        // Only the first packet waits for the input to go on air; the next ones are due at the intervals of their
        // times.
        bench.input.take(frame(40), at: clock.now)
        bench.input.take(frame(80), at: clock.now)
        #expect(clock.now == 380_000_000 && bench.kept == 3)
        // After a restart, the playlist begins with a keyframe again.
        bench.input.restart()
        bench.input.take(frame(1000), at: clock.now)
        #expect(clock.now == 680_000_000)
        #expect(bench.passthrough.inputHeartbeats[0].silence == nil, "the heartbeat rests between packets")
    }

    // Regression: if a sender paused for 2.6 s and then sent everything at once, nothing was logged.
    @Test("Pauses of a copied input that last 2 s or more are logged: the first, the second, the fourth, and so on")
    func pauses() throws {
        let clock = ManualClock()
        let bench = try make(isLive: true, canWait: false, clock: clock)
        defer { bench.passthrough.stop() }
        func deliver(after pause: Duration) {
            clock.advance(by: pause)
            bench.input.take(frame(clock.now.nanoseconds / 1_000_000), at: clock.now)
        }
        for pause in [Duration.seconds(9), .milliseconds(40), .milliseconds(1960), .milliseconds(40)] {
            deliver(after: pause)
        }
        #expect(bench.bench.log.lines(containing: "stalled").isEmpty)
        deliver(after: .milliseconds(2600))
        #expect(bench.bench.log.lines(containing: "stalled").count == 1)
        for _ in 2...5 { deliver(after: .seconds(2)) }
        #expect(bench.bench.log.lines(containing: "stalled").count == 3)
        // After a restart another sender begins, so the time between the two senders is not a pause.
        bench.input.restart()
        for _ in 6...8 {
            deliver(after: .seconds(60))
            bench.input.restart()
        }
        #expect(bench.bench.log.lines(containing: "stalled").count == 3)
    }

    /// Delivers a frame on a thread of its own, and returns when the input has noticed that. The semaphore tells when
    /// the thread is free again.
    private func deliver(to bench: Bench) throws -> DispatchSemaphore {
        let isFree = DispatchSemaphore(value: 0)
        let (input, frame) = (bench.input, frame(0))
        DispatchQueue(label: "reader").async {
            input.take(frame, at: 1)
            isFree.signal()
        }
        try eventually("the frame is held back") { bench.newest != nil }
        return isFree
    }

    @Test("A file's packet is held back until its input is on air, and is then published")
    func file() throws {
        let bench = try make(isLive: false, clock: SteppedClock())
        defer { bench.passthrough.stop() }
        let isFree = try deliver(to: bench)
        #expect(bench.bench.air.all.isEmpty)
        bench.bench.begin()
        try eventually("the frame is on air") { isFree.wait(timeout: .now()) == .success }
        #expect(bench.bench.air.frames.count == 1 && bench.bench.air.frames.first?.isKeyframe == true)
    }

    @Test("If a program ends before its input is on air, the thread of the file is released, and its packet is dropped")
    func stopped() throws {
        let bench = try make(isLive: false, clock: SteppedClock())
        let isFree = try deliver(to: bench)
        bench.passthrough.stop()
        try eventually("the thread is free") { isFree.wait(timeout: .now()) == .success }
        #expect(bench.kept == 0 && bench.bench.air.all.isEmpty)
    }

    @Test("If an input is opened again, the thread of its earlier opening is released, and its packet is dropped")
    func reopened() throws {
        let bench = try make(isLive: false, clock: SteppedClock())
        defer { bench.passthrough.stop() }
        let isFree = try deliver(to: bench)
        bench.passthrough.airState.withLock { [sender] air in _ = air.open(0, sender.description(canWait: true)) }
        try eventually("the thread is free") { isFree.wait(timeout: .now()) == .success }
        #expect(bench.kept == 0 && bench.newest == nil)
    }
}
