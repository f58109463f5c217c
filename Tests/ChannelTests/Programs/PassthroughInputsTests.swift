// SPDX-License-Identifier: Apache-2.0

import FanOut
import Ingest
import Media
import Status
import TestSupport
import Testing

@testable import Channel

@Suite("A copied program of 1 to 4 inputs, in random sequences")
struct PassthroughInputsTests {
    /// Several senders of one program, whose timestamps are not related, and the present time.
    private struct Senders {
        let locations: [String]
        let inputs = FakeInputs()
        let clock = SteppedClock()
        var senders: [FakeSender]
        /// The present time in milliseconds.
        var time: Int64 = 0

        init(_ count: Int, _ random: inout SeededRandom) {
            locations = (0..<count).map { "srt://in\($0):1" }
            senders = (0..<count).map { FakeSender(UInt8($0), offset: .random(in: 0...1_000_000, using: &random)) }
            for (location, sender) in zip(locations, senders) { inputs.set(location, sender.description()) }
        }

        /// Lets the `living` senders send for 200 ms, to the sources that are open.
        mutating func send(_ living: [Int]) {
            for _ in 0..<5 {
                clock.set(MonotonicInstant(milliseconds: time))
                for index in living {
                    for packet in senders[index].packets(at: time) {
                        inputs[locations[index]]?.deliver(packet, at: MonotonicInstant(milliseconds: time))
                    }
                }
                time += 40
            }
        }

        /// The sources that were opened and are not open any more, with the numbers of their senders.
        var closed: [(index: Int, source: FakePacketSource)] {
            locations.enumerated().flatMap { index, location in
                inputs.all(location).filter { $0.wasStarted && !$0.delivers }.map { (index: index, source: $0) }
            }
        }
    }

    private func configuration(_ locations: [String], _ random: inout SeededRandom) -> ChannelConfiguration {
        var configuration = ChannelConfiguration()
        let inputs = locations.map { InputLocation($0) }
        configuration.sources = [.init(name: "in0", input: inputs[0], backups: Array(inputs.dropFirst()))]
        configuration.sources[0].selection.standby = random.pick([.cold, .hot])
        configuration.sources[0].selection.returnAfter = .milliseconds(random.pick([0, 500]))
        configuration.copying = .all
        return configuration
    }

    /// Checks what must be true of each program: it begins at 0 with a keyframe, changes its sender at keyframes only,
    /// and its times increase.
    private func check(_ air: CollectedPackets) {
        let frames = air.frames
        #expect(frames.first?.isKeyframe == true && frames.first?.pts == 0)
        for (before, after) in zip(frames, frames.dropFirst()) where before.mark != after.mark {
            #expect(after.isKeyframe)
        }
        for track in [TrackKind.video, .audio] {
            let times = air.all.filter { $0.track == track }.map(\.dtsNanoseconds)
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        }
    }

    @Test("The first of several copied inputs that sends is on air, even if senders stall, restart or jump in time")
    func walk() throws {
        var random = SeededRandom()
        for count in [1, 2, 3, 4, 3, 4] {
            var senders = Senders(count, &random)
            let bench = try PassthroughBench(
                senders.inputs, configuration(senders.locations, &random), clock: senders.clock)
            bench.begin()
            try eventually("the first input is open") { senders.inputs[senders.locations[0]]?.delivers == true }
            for round in 0..<4 {
                var living = (0..<count).filter { _ in count == 1 || Bool.random(using: &random) }
                if round == 0, living.isEmpty { living = [count - 1] }
                switch Int.random(in: 0..<3, using: &random) {
                case 0: senders.senders[Int.random(in: 0..<count, using: &random)].offset += 3_600_000
                case 1: senders.inputs[senders.locations[Int.random(in: 0..<count, using: &random)]]?.restart()
                default: break
                }
                guard let first = living.first else { continue }
                try eventually("input \(first) of \(living) is on air") {
                    senders.send(living)
                    return bench.air.frames.last?.mark == UInt8(first)
                }
                // The thread of a closed source was blocked with packets, and delivers them now.
                let before = bench.air.all.count
                for (index, source) in senders.closed {
                    for packet in senders.senders[index].packets(at: senders.time / 1000 * 1000) {
                        source.deliverLate(packet, at: MonotonicInstant(milliseconds: senders.time))
                    }
                }
                #expect(bench.air.all.count == before)
            }
            check(bench.air)
            let status = bench.passthrough.status
            #expect(status.passthrough?.packets == Int64(bench.air.all.count) && status.sources.count == count)
            #expect(bench.passthrough.heartbeats.count == count && bench.end == nil)
            bench.passthrough.stop()
            try eventually("the program ends") { bench.end != nil }
            #expect(bench.end == .done)
            try eventually("all inputs are closed") {
                senders.locations.allSatisfy { senders.inputs.all($0).allSatisfy { !$0.delivers } }
            }
        }
    }

    @Test("A copied program that is stopped several times, before, during or after its beginning, ends once")
    func stops() throws {
        var random = SeededRandom()
        for round in 0..<12 {
            var senders = Senders(1 + round % 3, &random)
            let bench = try PassthroughBench(
                senders.inputs, configuration(senders.locations, &random), clock: senders.clock)
            if round % 4 == 0 { bench.passthrough.stop() }
            bench.begin()
            for _ in 0..<Int.random(in: 0...4, using: &random) { senders.send([0]) }
            bench.passthrough.stop()
            bench.passthrough.stop()
            try eventually("the program ends") { bench.end != nil }
            let published = bench.air.all.count
            senders.send([0])
            bench.passthrough.stop()
            #expect(bench.end == .done && bench.air.all.count == published)
        }
    }
}
