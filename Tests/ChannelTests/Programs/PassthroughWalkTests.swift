// SPDX-License-Identifier: Apache-2.0

import FanOut
import Ingest
import Media
import TestSupport
import Testing

@testable import Channel

@Suite("A copied program with random inputs")
struct PassthroughWalkTests {
    /// Three senders. Any of them can be open, and one is on air.
    private struct Walk {
        let senders = (0..<3).map { FakeSender(UInt8($0), offset: Int64($0) * 1_000_000) }
        let out = CollectedPackets()
        private let sink: PassthroughSink
        var air = PassthroughAir()
        /// The inputs that are open, and whether they have had a keyframe since they were opened or restarted.
        private(set) var hasKeyframe: [Int: Bool] = [:]
        /// The turns of the open inputs.
        private var turns: [Int: PassthroughTurn] = [:]
        /// The turns that are over.
        private(set) var over: [PassthroughTurn] = []

        init() {
            let hub = PacketStream(delivery: .immediate)
            hub.begin(StreamDescription(), keyframes: NoKeyframes())
            hub.add(out)
            sink = PassthroughSink(hub)
        }

        mutating func open(_ input: Int) {
            hasKeyframe[input] = false
            turns[input] = air.open(input, senders[input].description())
        }

        mutating func close(_ input: Int) {
            hasKeyframe[input] = nil
            if let turn = turns.removeValue(forKey: input) { over.append(turn) }
            air.close(input)
        }

        mutating func restart(_ input: Int) {
            hasKeyframe[input] = false
            if let turn = turns[input] { air.restart(turn) }
        }

        /// Lets an input send its packets of `time`, and returns its frames that went on air as a result.
        mutating func send(_ input: Int, at time: Int64) -> [EncodedPacket] {
            guard let turn = turns[input] else { return [] }
            let arrival = MonotonicInstant(milliseconds: time)
            return senders[input].packets(at: time).flatMap { packet in
                if packet.track == .video, packet.isKeyframe { hasKeyframe[input] = true }
                let timed = air.time(packet, of: turn, at: arrival)
                let due = air.take(timed, of: turn, at: arrival, until: nil, slate: 3).packets
                for packet in due { sink.publish(packet) }
                return due.filter { $0.track == .video && $0.mark == UInt8(input) }
            }
        }

        /// Simulates a thread that belongs to an earlier opening of an input and was blocked while it delivered a
        /// keyframe: delivers this keyframe now. Returns whether anything then goes on air or counts as delivered.
        mutating func sendLate(_ turn: PassthroughTurn, at time: Int64) -> Bool {
            let arrival = MonotonicInstant(milliseconds: time)
            let before = air.newest
            let packets = senders[turn.index].packets(at: time / 1000 * 1000)
            let timed = packets.flatMap { air.time($0, of: turn, at: arrival) }
            let due = air.take(packets, of: turn, at: arrival, until: nil, slate: 3)
            air.restart(turn)
            air.noteVideo(of: turn, at: arrival)
            return !timed.isEmpty || !due.packets.isEmpty || due.isOver || air.newest != before
        }
    }

    /// Opens, closes or restarts an input, or puts one on air.
    private func step(_ walk: inout Walk, _ random: inout SeededRandom) {
        let input = Int.random(in: 0...2, using: &random)
        let isPlayed = walk.air.splicer.onAir == input || walk.air.splicer.next == input
        switch Int.random(in: 0...3, using: &random) {
        case 0 where walk.hasKeyframe[input] == nil: walk.open(input)
        case 1 where walk.hasKeyframe[input] != nil && !isPlayed: walk.close(input)
        case 2 where walk.hasKeyframe[input] != nil: walk.restart(input)
        case 3 where walk.hasKeyframe[input] != nil: walk.air.splicer.show(input)
        default: break
        }
    }

    @Test("A copied program begins and switches at keyframes, has increasing times and loses no frame on air")
    func walks() {
        var random = SeededRandom()
        var changes = 0
        for _ in 0..<20 {
            var walk = Walk()
            walk.open(0)
            walk.air.splicer.show(0)
            let begin = Int64.random(in: 0...50, using: &random) * 40
            for time in stride(from: Int64(0), to: 40_000, by: 40) {
                if time >= begin { walk.air.hasBegun = true }
                if Int.random(in: 0..<12, using: &random) == 0 { step(&walk, &random) }
                if let turn = walk.over.randomElement(using: &random) {
                    let isNoticed = walk.sendLate(turn, at: time)
                    #expect(!isNoticed)
                }
                for input in walk.hasKeyframe.keys.sorted() {
                    let (onAir, next) = (walk.air.splicer.onAir, walk.air.splicer.next)
                    let frames = walk.send(input, at: time)
                    guard walk.air.hasBegun else { continue }
                    // No frame of the input on air is lost, from its keyframe on.
                    if onAir == input, walk.hasKeyframe[input] == true, time > begin { #expect(frames.count == 1) }
                    // The next input goes on air with its next keyframe.
                    if next == input, time % 1000 == 0 {
                        #expect(walk.air.splicer.onAir == input && walk.air.splicer.next == nil)
                        #expect(frames.last?.isKeyframe == true)
                    }
                    // Frames of all other inputs are dropped.
                    if onAir != input, next != input { #expect(frames.isEmpty) }
                }
            }
            for track in [TrackKind.video, .audio] {
                let times = walk.out.all.filter { $0.track == track }.map(\.dtsNanoseconds)
                #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
            }
            let frames = walk.out.frames
            #expect(frames.first?.isKeyframe == true && frames.first?.pts == 0)
            for (before, after) in zip(frames, frames.dropFirst()) where before.mark != after.mark {
                #expect(after.isKeyframe)
                changes += 1
            }
        }
        #expect(changes > 20)
    }

    @Test("Before the first frame of a copied program, only audio from at most 20 ms before that frame goes on air")
    func preRoll() {
        let sender = FakeSender(0, offset: 5000)
        var splicer = PacketSplicer()
        splicer.open(0, sender.description())
        splicer.show(0)
        let packets = [Int64(880), 920, 960, 1000].flatMap { time in
            sender.packets(at: time).flatMap { packet in
                splicer.take(packet, of: 0, at: MonotonicInstant(milliseconds: time))
            }
        }
        #expect(packets.last?.track == .video && packets.last?.pts == 0)
        // The audio that ends with the frame's beginning, the audio that begins with it, and the following one.
        #expect(packets.dropLast().map(\.track) == [.audio, .audio, .audio])
        #expect(packets.dropLast().allSatisfy { $0.dtsNanoseconds >= -20_000_000 })
    }

    @Test("A copied program begins at time 0, even if its input was read for a while before it went on air")
    func zero() {
        let sender = FakeSender(0, offset: 5000)
        var splicer = PacketSplicer()
        splicer.open(0, sender.description())
        var packets: [EncodedPacket] = []
        for time in stride(from: Int64(0), through: 4000, by: 40) {
            if time == 2520 { splicer.show(0) }
            packets += sender.packets(at: time).flatMap {
                splicer.take($0, of: 0, at: MonotonicInstant(milliseconds: time))
            }
        }
        let frames = packets.filter { $0.track == .video }
        #expect(frames.first?.pts == 0 && frames.count == 26)
    }
}
