// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FanOut
import Ingest
import Media
import Status
import Studio
import Synchronization
import TestSupport
import Testing

@testable import Channel

@Suite("A program of copied packets")
struct PassthroughTests {
    private static let location = "srt://cam:9000"
    private let sender = FakeSender(1, offset: 7000)

    private func configuration(_ inputs: String..., limit: Duration? = nil) -> ChannelConfiguration {
        var configuration = ChannelConfiguration()
        let locations = inputs.map { InputLocation($0) }
        configuration.sources = [.init(input: locations[0], backups: Array(locations.dropFirst()))]
        configuration.sources[0].selection.returnAfter = .seconds(2)
        (configuration.copying, configuration.duration) = (.all, limit)
        return configuration
    }

    /// A passthrough of one input, which has begun.
    private func bench(
        canWait: Bool = false, limit: Duration? = nil, clock: any MonotonicClock = ManualClock()
    ) throws -> (bench: PassthroughBench, source: FakePacketSource) {
        let inputs = FakeInputs()
        inputs.set(Self.location, sender.description(canWait: canWait))
        let bench = try PassthroughBench(inputs, configuration(Self.location, limit: limit), clock: clock)
        let source = try #require(inputs[Self.location])
        bench.begin()
        try eventually("the input delivers") { source.delivers }
        return (bench, source)
    }

    // MARK: One input

    @Test("The packets of a single copied input are published with exactly the times that its timeline gives")
    func identical() throws {
        var random = SeededRandom()
        for _ in 0..<20 {
            let (bench, source) = try bench()
            defer { bench.passthrough.stop() }
            let expected = CollectedPackets()
            let hub = PacketStream(delivery: .immediate)
            hub.begin(StreamDescription(), keyframes: NoKeyframes())
            hub.add(expected)
            let sink = PassthroughSink(hub)
            var timeline = PacketTimeline(sender.description())
            var sender = sender
            let start = Int64.random(in: 0..<50, using: &random) * 40
            for time in stride(from: start, to: start + 8000, by: 40) {
                switch Int.random(in: 0..<100, using: &random) {
                case 0:
                    source.restart()
                    timeline.restart()
                case 1: sender.offset += Int64.random(in: -5000...90_000, using: &random)
                default: break
                }
                let arrival = MonotonicInstant(milliseconds: time + Int64.random(in: 0...30, using: &random))
                for packet in sender.packets(at: time) where Int.random(in: 0..<50, using: &random) > 0 {
                    source.deliver(packet, at: arrival)
                    for packet in timeline.take(packet, at: arrival) { sink.publish(packet) }
                }
            }
            #expect(!expected.all.isEmpty && bench.air.all.count == expected.all.count)
            for (packet, expected) in zip(bench.air.all, expected.all) {
                #expect(packet.pts == expected.pts && packet.dts == expected.dts)
                #expect(packet.track == expected.track && packet.duration == expected.duration)
                #expect(packet.isKeyframe == expected.isKeyframe && packet.payload.array == expected.payload.array)
            }
        }
    }

    @Test("A packet of a live input is published at once, on the thread that delivers it")
    func immediate() throws {
        let (bench, source) = try bench()
        defer { bench.passthrough.stop() }
        var count = 0
        for time in stride(from: Int64(0), to: 2000, by: 40) {
            for packet in sender.packets(at: time) {
                source.deliver(packet, at: MonotonicInstant(milliseconds: time))
                if time > 0 {
                    count += 1
                    #expect(bench.air.all.last?.payload.array == packet.payload.array)
                }
            }
        }
        // The first keyframe arrived with the audio that is played with it.
        #expect(bench.air.all.count == count + 3)
    }

    @Test(
        "A copied program ends with its input: as done if there were frames, as failed if there were none or an error"
    )
    func ends() throws {
        let cases: [(frames: Bool, failure: String?, end: ChannelEnd)] = [
            (true, nil, .done), (false, nil, .failed(.inputUnreadable)), (true, "gone", .failed(.inputUnreadable)),
        ]
        for (frames, failure, end) in cases {
            let (bench, source) = try bench()
            let keyframes = sender.packets(at: frames ? 0 : 40)
            for packet in keyframes { source.deliver(packet, at: MonotonicInstant(milliseconds: 0)) }
            source.end(failure: failure)
            try eventually("the program ends") { bench.end != nil }
            #expect(bench.end == end)
            #expect(!source.delivers)
        }
    }

    @Test("A copied program that is stopped before its first packet ends without a failure and closes its input")
    func stopped() throws {
        let (bench, source) = try bench()
        bench.passthrough.stop()
        try eventually("the program ends") { bench.end != nil }
        #expect(bench.end == .done && !source.delivers)
    }

    @Test("A copied program with a duration publishes exactly the frames before its end, and then ends by itself")
    func limit() throws {
        let (bench, source) = try bench(limit: .seconds(3))
        for time in stride(from: Int64(0), to: 5000, by: 40) {
            for packet in sender.packets(at: time) { source.deliver(packet, at: MonotonicInstant(milliseconds: time)) }
        }
        try eventually("the program ends") { bench.end != nil }
        #expect(bench.end == .done && bench.air.frames.count == 75)
        #expect(bench.passthrough.status.passthrough?.frames == 75)
    }

    @Test("A copied file is paced by program time, and a jump of its timestamps neither delays nor hurries the program")
    func paced() throws {
        let clock = ManualClock()
        let (bench, source) = try bench(canWait: true, clock: clock)
        defer { bench.passthrough.stop() }
        var sender = sender
        for time in stride(from: Int64(0), to: 4000, by: 40) {
            if time == 2000 { sender.offset += 3_600_000 }
            for packet in sender.packets(at: time) { source.deliver(packet, at: MonotonicInstant(milliseconds: time)) }
            #expect(abs(clock.now.nanoseconds / 1_000_000 - time) <= 100, "\(time)")
        }
        #expect(bench.air.frames.count == 100)
    }

    @Test("A copied program with pacing off refuses a live input, and closes it")
    func unpacedLive() throws {
        let inputs = FakeInputs()
        inputs.set(Self.location, sender.description())
        var configuration = configuration(Self.location)
        configuration.isPaced = false
        let failure = #expect(throws: ChannelFailure.self) {
            try PassthroughBench(inputs, configuration, clock: ManualClock())
        }
        #expect(failure?.cause == .configuration && failure?.attempt == .openInput(Self.location))
        #expect(inputs[Self.location]?.status.state == .ended)
    }

    @Test("A copied program fails if none of its inputs can be opened")
    func unreadable() throws {
        let failure = #expect(throws: ChannelFailure.self) {
            try PassthroughBench(FakeInputs(), configuration(Self.location), clock: SteppedClock())
        }
        #expect(failure?.cause == .inputUnreadable && failure?.attempt == .openInput(Self.location))
        #expect(failure?.error as? IngestError == .cannotBeOpened(input: Self.location, reason: "it is away"))
        let none = #expect(throws: ChannelFailure.self) {
            try PassthroughBench(FakeInputs(), configuration(Self.location, "srt://b:1"), clock: SteppedClock())
        }
        #expect(none?.cause == .inputUnreadable && none?.attempt == .openInput(Self.location))
        #expect(none?.error as? IngestError == .cannotBeOpened(input: Self.location, reason: "it is away"))
        let inputs = FakeInputs()
        inputs.set("srt://b:1", sender.description())
        let bench = try PassthroughBench(inputs, configuration(Self.location, "srt://b:1"), clock: SteppedClock())
        defer { bench.passthrough.stop() }
        #expect(bench.passthrough.description.video != nil)
    }

    @Test("A copied program whose opening is cancelled fails at once, instead of waiting to show its slate")
    func givenUp() throws {
        let (clock, inputs) = (ManualClock(), FakeInputs())
        inputs.giveUp()
        var configuration = configuration(Self.location, "srt://b:1")
        configuration.slate = .bars
        #expect(throws: ChannelFailure.self) { try PassthroughBench(inputs, configuration, clock: clock) }
        #expect(clock.now < 1_000_000_000)
    }

    @Test(
        "If a copied program is stopped while a packet is published, the program's end is published after that packet"
    )
    func endWhilePublishing() throws {
        for _ in 0..<30 {
            let inputs = FakeInputs()
            inputs.set(Self.location, sender.description())
            let bench = try PassthroughBench(inputs, configuration(Self.location), clock: ManualClock())
            let counted = CountedCalls()
            bench.add(counted)
            let source = try #require(inputs[Self.location])
            bench.begin()
            try eventually("the input delivers") { source.delivers }
            let sent = DispatchSemaphore(value: 0)
            DispatchQueue(label: "sender").async { [sender] in
                for time in stride(from: Int64(0), to: 4000, by: 40) {
                    for packet in sender.packets(at: time) {
                        source.deliver(packet, at: MonotonicInstant(milliseconds: time))
                    }
                }
                sent.signal()
            }
            try eventually("packets are on air") { counted.total > 5 }
            bench.passthrough.stop()
            try eventually("the program ends") { bench.end != nil && sent.wait(timeout: .now()) == .success }
            #expect(counted.most == 1)
        }
    }

    @Test("If a copied program is stopped while an input and the slate go on air, both are closed")
    func stoppedWhileOpening() throws {
        let inputs = FakeInputs()
        for location in [Self.location, "srt://b:1"] { inputs.set(location, sender.description()) }
        var configuration = configuration(Self.location, "srt://b:1")
        configuration.slate = .bars
        let bench = try PassthroughBench(inputs, configuration, clock: SteppedClock())
        let passthrough = bench.passthrough
        let (begun, stopped) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        passthrough.choice?.perform {
            begun.signal()
            stopped.wait()
            passthrough.open(1, .all)
            passthrough.air(.slate)
            // The backup and the slate must be open before this queue does anything else.
            try? eventually("the backup is open") { inputs["srt://b:1"]?.delivers == true }
            try? eventually("the slate is open") { passthrough.slate?.heartbeat != nil }
        }
        begun.wait()
        passthrough.stop()
        stopped.signal()
        try eventually("the backup was open") { inputs["srt://b:1"]?.wasStarted == true }
        try eventually("the backup is closed") { inputs["srt://b:1"]?.delivers == false }
        try eventually("the slate has ended") { passthrough.slate?.heartbeat == nil }
        // `run` closes all inputs, too. It begins only now, so the inputs above were closed by `stop` alone.
        bench.begin()
        try eventually("the program ends") { bench.end == .done }
    }

    // MARK: Inputs that are opened again

    @Test("If an input was reopened, packets of its previous opening that are delivered late do not go on air")
    func late() throws {
        let (clock, inputs) = (SteppedClock(), FakeInputs())
        inputs.set(Self.location, sender.description())
        let bench = try PassthroughBench(inputs, configuration(Self.location, "srt://b:1"), clock: clock)
        defer { bench.passthrough.stop() }
        bench.begin()
        let first = try #require(inputs[Self.location])
        var time: Int64 = 0
        try eventually("the first input is on air") {
            clock.set(MonotonicInstant(milliseconds: time))
            for packet in sender.packets(at: time) { first.deliver(packet, at: MonotonicInstant(milliseconds: time)) }
            time += 40
            return bench.air.frames.count >= 25
        }
        first.end(failure: "gone")
        try eventually("the input is open again") {
            inputs[Self.location] !== first && inputs[Self.location]?.delivers == true
        }
        let (second, before) = (try #require(inputs[Self.location]), bench.air.all.count)
        // The timestamps of the two openings are not related.
        for packet in sender.packets(at: 9000) { first.deliverLate(packet, at: MonotonicInstant(milliseconds: time)) }
        #expect(bench.air.all.count == before)
        let again = FakeSender(2, offset: 500_000)
        for packet in again.packets(at: 10_000) { second.deliver(packet, at: MonotonicInstant(milliseconds: time)) }
        #expect(bench.air.frames.last?.mark == 2 && bench.air.frames.last?.isKeyframe == true)
        let times = bench.air.frames.map(\.dtsNanoseconds)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        for packet in sender.packets(at: 9040) { first.deliverLate(packet, at: MonotonicInstant(milliseconds: time)) }
        #expect(bench.air.frames.last?.mark == 2)
    }

    @Test("An input that is closed while it is being opened delivers no packets to a copied program")
    func closedWhileOpening() throws {
        let inputs = FakeInputs()
        inputs.set(Self.location, sender.description())
        let bench = try PassthroughBench(inputs, configuration(Self.location, "srt://b:1"), clock: SteppedClock())
        defer { bench.passthrough.stop() }
        bench.begin()
        let first = try #require(inputs[Self.location])
        try eventually("the input is open") { first.delivers }
        inputs.whenMade(Self.location) { bench.passthrough.close(0) }
        first.end(failure: "gone")
        try eventually("the input was made again, and closed") { inputs.all(Self.location).count == 2 }
        // The third opening begins when the second has ended.
        try eventually("the input is open again") {
            bench.passthrough.open(0, .all)
            return inputs.all(Self.location).count == 3 && inputs[Self.location]?.delivers == true
        }
        #expect(inputs.all(Self.location).map(\.wasStarted) == [true, false, true])
    }

    @Test("A thread that waits to put a backup file's packet on air returns if that input fails")
    func released() throws {
        let (clock, inputs) = (SteppedClock(), FakeInputs())
        let file = FakeSender(2)
        inputs.set(Self.location, sender.description())
        inputs.set("srt://b:1", file.description(canWait: true))
        var configuration = configuration(Self.location, "srt://b:1")
        configuration.sources[0].selection.standby = .hot
        let bench = try PassthroughBench(inputs, configuration, clock: clock)
        defer { bench.passthrough.stop() }
        bench.begin()
        try eventually("the backup is open") { inputs["srt://b:1"]?.delivers == true }
        let backup = try #require(inputs["srt://b:1"])
        let returned = DispatchSemaphore(value: 0)
        DispatchQueue(label: "backup").async { [file] in
            backup.deliver(file.packets(at: 0)[2], at: MonotonicInstant(milliseconds: 0))
            returned.signal()
        }
        try eventually("the backup waits to go on air") {
            bench.passthrough.airState.withLock { $0.newest[1] } != nil
        }
        #expect(returned.wait(timeout: .now()) == .timedOut)
        backup.end(failure: "gone")
        try eventually("the thread returns") { returned.wait(timeout: .now()) == .success }
        #expect(bench.air.all.allSatisfy { $0.mark != 2 })
    }

    // MARK: Several inputs

    @Test("A backup replaces a missing first input at a keyframe, and the first input returns once it is healthy")
    func backup() throws {
        let (clock, inputs) = (SteppedClock(), FakeInputs())
        let (first, second) = (FakeSender(1, offset: 7000), FakeSender(2, offset: 900_000))
        inputs.set("srt://a:1", first.description())
        inputs.set("srt://b:1", second.description())
        let bench = try PassthroughBench(inputs, configuration("srt://a:1", "srt://b:1"), clock: clock)
        defer { bench.passthrough.stop() }
        bench.begin()
        var time: Int64 = 0
        /// Lets both senders send for a while, so that the switch notices them, until `condition` holds at the end of a
        /// GOP.
        func send(_ senders: [(String, FakeSender)], until condition: () -> Bool) throws {
            try eventually("at \(time) ms: \(bench.passthrough.choice?.status.onAir ?? "nothing") is on air") {
                clock.set(MonotonicInstant(milliseconds: time))
                for (location, sender) in senders {
                    for packet in sender.packets(at: time) {
                        inputs[location]?.deliver(packet, at: MonotonicInstant(milliseconds: time))
                    }
                }
                time += 40
                return condition()
            }
        }
        try send([("srt://a:1", first)]) { bench.air.frames.count >= 50 }
        #expect(bench.air.all.allSatisfy { $0.mark == 1 })
        inputs.set("srt://a:1", nil)
        inputs["srt://a:1"]?.end(failure: "gone")
        try send([("srt://b:1", second)]) { bench.air.frames.last?.mark == 2 }
        let taken = bench.air.frames.filter { $0.mark == 2 }
        #expect(taken.first?.isKeyframe == true)
        #expect(bench.passthrough.status.selection?.onAir == "srt://b:1")
        inputs.set("srt://a:1", first.description())
        try send([("srt://a:1", first), ("srt://b:1", second)]) {
            bench.air.frames.last?.mark == 1
        }
        // One stream: it begins with a keyframe at 0, each change of the sender is at a keyframe, and times increase.
        let frames = bench.air.frames
        #expect(frames.first?.isKeyframe == true && frames.first?.pts == 0)
        for (before, after) in zip(frames, frames.dropFirst()) {
            #expect(after.dtsNanoseconds > before.dtsNanoseconds)
            if after.mark != before.mark { #expect(after.isKeyframe) }
        }
        #expect(bench.passthrough.status.selection?.switches == 2)
        bench.passthrough.stop()
        try eventually("the program ends") { bench.end != nil }
        #expect(bench.end == .done)
    }
}
