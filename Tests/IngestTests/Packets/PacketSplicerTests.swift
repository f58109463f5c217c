// SPDX-License-Identifier: Apache-2.0

import Media
import SourceClock
import Testing

@testable import Ingest
@testable import LibAV

@Suite("Splicing of packets of several inputs")
struct PacketSplicerTests {
    /// The track of a sender, which is recognized by one byte of its configuration.
    private static func video(_ mark: UInt8) -> TrackDescription {
        TrackDescription(
            video: .h264,
            frames: FrameFormat(width: 320, height: 180, sampleAspectRatio: .square, color: .bt709),
            timeBase: .milliseconds, decoderConfiguration: SharedBytes([mark]), bitrate: 0, nominalRate: nil)
    }
    private static func audio(_ mark: UInt8) -> TrackDescription {
        TrackDescription(
            audio: .aac, format: .program, timeBase: .milliseconds, decoderConfiguration: SharedBytes([mark]),
            bitrate: 0,
            frameLength: 960)
    }

    /// A sender of 25 frames and 50 packets of audio a second, with a keyframe each second.
    private struct Sender {
        let video: TrackDescription
        let audio: TrackDescription
        /// The sender's stamps when the clock is 0, in milliseconds.
        let offset: Int64
        /// By how much audio arrives later than video of the same time, in milliseconds.
        let lag: Int64

        init(_ mark: UInt8, offset: Int64, lag: Int64 = 0) {
            (video, audio) = (PacketSplicerTests.video(mark), PacketSplicerTests.audio(mark))
            (self.offset, self.lag) = (offset, lag)
        }

        func packets(at time: Int64) -> [EncodedPacket] {
            let stamp = time + offset
            var packets = [packet(audio, stamp - lag, 20), packet(audio, stamp - lag + 20, 20)]
            packets.append(packet(video, stamp, 40, isKeyframe: time % 1000 == 0))
            return packets
        }

        private func packet(
            _ track: TrackDescription, _ stamp: Int64, _ duration: Int64, isKeyframe: Bool = true
        ) -> EncodedPacket {
            EncodedPacket(
                of: track, pts: stamp, dts: stamp, duration: duration, isKeyframe: isKeyframe,
                payload: SharedBytes([0]))
        }
        var description: PacketSourceDescription {
            PacketSourceDescription(
                stream: StreamDescription(video: video, audio: audio), canWait: false, clock: .rtmp, stampBits: nil)
        }
    }

    private var senders = [Sender(0, offset: 5000), Sender(1, offset: 900_000)]

    /// The mark of the sender of a packet.
    private func mark(_ packet: EncodedPacket) -> UInt8? { packet.description.decoderConfiguration.array.first }

    private func milliseconds(_ packets: [EncodedPacket]) -> [Int64] {
        packets.map { ($0.dtsNanoseconds + 500_000) / 1_000_000 }
    }

    private func run(_ range: Range<Int64>, _ splicer: inout PacketSplicer, from sources: [Int]) -> [EncodedPacket] {
        stride(from: range.lowerBound, to: range.upperBound, by: 40).flatMap { time in
            sources.flatMap { index in
                senders[index].packets(at: time).flatMap {
                    splicer.take($0, of: index, at: MonotonicInstant(nanoseconds: time * 1_000_000))
                }
            }
        }
    }

    private func splicer() -> PacketSplicer {
        var splicer = PacketSplicer()
        for index in senders.indices { splicer.open(index, senders[index].description) }
        return splicer
    }

    @Test("No packet is put on air until an input is selected; that input's packets are then unchanged")
    func one() {
        var splicer = splicer()
        #expect(run(0..<1000, &splicer, from: [0, 1]).isEmpty)
        splicer.show(0)
        let packets = run(1000..<3000, &splicer, from: [0, 1])
        #expect(packets.filter { $0.track == .video }.count == 50)
        #expect(packets.allSatisfy { mark($0) == 0 })
        let times = milliseconds(packets.filter { $0.track == .video })
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 40 })
    }

    @Test("A switch takes effect at the new input's keyframe; times continue, and no track overlaps")
    func change() throws {
        var splicer = splicer()
        splicer.show(0)
        let before = run(0..<1400, &splicer, from: [0, 1])
        splicer.show(1)
        // The first input stays on air until the keyframe.
        let between = run(1400..<2000, &splicer, from: [0, 1])
        #expect(between.allSatisfy { mark($0) == 0 })
        #expect(between.contains { $0.track == .video })
        let after = run(2000..<4000, &splicer, from: [0, 1])
        let first = try #require(after.first { $0.track == .video && mark($0) == 1 })
        #expect(first.isKeyframe)
        let videos = milliseconds((before + between + after).filter { $0.track == .video })
        #expect(zip(videos, videos.dropFirst()).allSatisfy { $1 - $0 == 40 })
        let audios = milliseconds((before + between + after).filter { $0.track == .audio })
        #expect(zip(audios, audios.dropFirst()).allSatisfy { $1 - $0 >= 20 && $1 - $0 <= 60 })
        // The offset of audio to video stays that of the sender.
        let audio = try #require(after.first { $0.track == .audio && mark($0) == 1 })
        let (own, lead) = (milliseconds([audio])[0], milliseconds([first])[0])
        #expect((own - lead) % 20 == 0)
    }

    @Test(
        "Audio that arrives later than its video is complete across a switch of inputs",
        arguments: [(800, 800), (800, 0), (0, 800)])
    func trailingAudio(before: Int64, after: Int64) {
        var test = self
        test.senders = [Sender(0, offset: 5000, lag: before), Sender(1, offset: 900_000, lag: after)]
        var splicer = test.splicer()
        splicer.show(0)
        var packets = test.run(0..<5000, &splicer, from: [0, 1])
        splicer.show(1)
        packets += test.run(5000..<12_000, &splicer, from: [0, 1])
        #expect(splicer.onAir == 1 && splicer.leaving == nil)
        let audio = packets.filter { $0.track == .audio }
        let times = test.milliseconds(audio)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 > $0 })
        let holes = zip(times, times.dropFirst()).map { $1 - $0 - 20 }.filter { $0 > 0 }
        // If the previous input's audio lags more than the next input's, the switch leaves a gap of the difference:
        // only a delay of the whole program could fill it.
        #expect(holes.reduce(0, +) <= max(0, before - after) + 20, "\(holes)")
        let own = zip(audio, times).filter { mark($0.0) == 1 }
        let first = packets.first { $0.track == .video && mark($0) == 1 }.map { test.milliseconds([$0])[0] }
        #expect(first.map { start in own.allSatisfy { $0.1 >= start - 10 } } == true)
    }

    @Test("After a lost input was replaced, none of its packets is put on air any more")
    func lostForGood() {
        var splicer = splicer()
        splicer.show(0)
        _ = run(0..<2000, &splicer, from: [0, 1])
        _ = run(2000..<3600, &splicer, from: [1])
        splicer.show(1)
        _ = run(3600..<4000, &splicer, from: [1])
        let keyframe = senders[1].packets(at: 4000).filter { $0.track == .video }
        var packets = keyframe.flatMap { splicer.take($0, of: 1, at: MonotonicInstant(nanoseconds: 4_000_000_000)) }
        // These packets were still in the buffers of the lost input.
        packets += senders[0].packets(at: 2000).flatMap {
            splicer.take($0, of: 0, at: MonotonicInstant(nanoseconds: 4_010_000_000))
        }
        packets += run(4040..<6000, &splicer, from: [0, 1])
        #expect(splicer.onAir == 1 && !packets.isEmpty && packets.allSatisfy { mark($0) == 1 })
    }

    @Test("Repeated switches to inputs whose first packets were delayed do not put the program ahead of the clock")
    func heldBack() throws {
        var splicer = splicer()
        splicer.show(0)
        _ = run(0..<2000, &splicer, from: [0])
        var time: Int64 = 2000
        for _ in 0..<10 {
            splicer.show(1)
            _ = run(time..<time + 3000, &splicer, from: [1])
            time += 3000
            splicer.open(0, senders[0].description)
            splicer.show(0)
            // Two seconds that probing had read, before other packets of that input arrive.
            for early in stride(from: time - 2000, to: time, by: 40) {
                for packet in senders[0].packets(at: early) {
                    _ = splicer.take(packet, of: 0, at: MonotonicInstant(nanoseconds: early * 1_000_000))
                }
            }
            let packets = run(time..<time + 4000, &splicer, from: [0, 1])
            time += 4000
            #expect(splicer.onAir == 0)
            let ahead = try #require(packets.last { $0.track == .video }).dtsNanoseconds / 1_000_000 - time
            #expect(abs(ahead) <= 100, "\(ahead) ms at \(time)")
        }
    }

    @Test("If a switch of inputs is cancelled before it took effect, the input on air continues unchanged")
    func changeOfMind() {
        var splicer = splicer()
        splicer.show(0)
        let before = run(0..<1400, &splicer, from: [0])
        splicer.show(1)
        splicer.show(0)
        // The input's next keyframe arrives late, which must have no effect.
        let late = senders[0].packets(at: 1400).flatMap {
            splicer.take($0, of: 0, at: MonotonicInstant(nanoseconds: 1_777_000_000))
        }
        let after = run(1440..<4000, &splicer, from: [0, 1])
        let packets = before + late + after
        #expect(packets.allSatisfy { mark($0) == 0 })
        let times = milliseconds(packets.filter { $0.track == .video })
        #expect(times.count == 100 && zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 40 })
    }

    @Test("If all inputs pause, the program has a gap of the same length")
    func gap() throws {
        var splicer = splicer()
        splicer.show(0)
        let before = run(0..<1000, &splicer, from: [0])
        splicer.show(1)
        let after = run(4000..<5000, &splicer, from: [1])
        let (last, first) = (
            try #require(before.last { $0.track == .video }), try #require(after.first { $0.track == .video })
        )
        #expect(milliseconds([first])[0] - milliseconds([last])[0] == 3040)
    }

    @Test("An input that was closed and opened again continues at the program's current time")
    func back() throws {
        var splicer = splicer()
        splicer.show(0)
        _ = run(0..<1000, &splicer, from: [0])
        splicer.show(1)
        let other = run(1000..<3000, &splicer, from: [1])
        splicer.close(0)
        splicer.open(0, senders[0].description)
        splicer.show(0)
        let back = run(3000..<5000, &splicer, from: [0, 1])
        let first = try #require(back.first { $0.track == .video && mark($0) == 0 })
        let last = try #require((other + back).last { $0.track == .video && mark($0) == 1 })
        #expect(milliseconds([first])[0] - milliseconds([last])[0] == 40)
        #expect(splicer.onAir == 0 && splicer.next == nil)
    }

    @Test("If the input on air is opened again, it stays on air and continues with its next keyframe")
    func reopened() {
        var splicer = splicer()
        splicer.show(0)
        #expect(!run(0..<2000, &splicer, from: [0]).isEmpty)
        splicer.open(0, senders[0].description)
        let packets = run(2040..<4000, &splicer, from: [0])
        #expect(splicer.onAir == 0 && packets.first?.isKeyframe == true)
        #expect(packets.allSatisfy { $0.dtsNanoseconds >= 2_900_000_000 })
    }

    @Test("Times in splice information are shifted together with the frames, even after a switch")
    func splices() throws {
        var splicer = splicer()
        let track = TrackDescription(data: .scte35, timeBase: .mpegTS)
        let section = SpliceSection.sealed(
            [0xFC, 0x30, 17, 0, 0] + [UInt8](repeating: 0, count: 4) + [0, 0xFF, 0xF0, 0, 0, 0, 0])
        func announcement(of index: Int, at time: Int64) throws -> (adjustment: Int64, expected: Int64) {
            let frames = run(time - 1000..<time, &splicer, from: [0, 1])
            let frame = try #require(frames.last { $0.track == .video })
            let stamp = (time - 40 + senders[index].offset) * 90
            let packet = EncodedPacket(
                of: track, pts: stamp, dts: stamp, duration: 0, isKeyframe: true, payload: SharedBytes(section))
            let taken = splicer.take(packet, of: index, at: MonotonicInstant(nanoseconds: time * 1_000_000))
            let bytes = try #require(taken.first?.payload.array)
            #expect(taken.count == 1 && taken[0].dtsNanoseconds == frame.dtsNanoseconds)
            let adjustment = bytes[5..<9].reduce(Int64(bytes[4] & 1)) { $0 << 8 | Int64($1) }
            let program = TimeBase.nanoseconds.rescale(frame.ptsNanoseconds, to: .mpegTS)
            return (adjustment, (program - stamp) & (1 << 33 - 1))
        }
        splicer.show(0)
        let first = try announcement(of: 0, at: 3000)
        #expect(abs(first.adjustment - first.expected) <= 1, "\(first)")
        splicer.show(1)
        _ = run(3000..<5400, &splicer, from: [0, 1])
        let second = try announcement(of: 1, at: 6400)
        #expect(splicer.onAir == 1 && abs(second.adjustment - second.expected) <= 1, "\(second)")
    }
}
