// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Channel

@Suite("Packets kept until a copied program begins, in random sequences")
struct PassthroughAirPropertyTests {
    /// A packet that was kept, of the input `index`.
    private struct Arrival {
        let packet: EncodedPacket
        let index: Int

        var isVideoKeyframe: Bool { packet.track == .video && packet.isKeyframe }
    }

    private static let mostBytes = 32 << 20
    private static let video = TrackDescription(
        video: .h264, frames: FrameFormat(width: 320, height: 180, sampleAspectRatio: .square, color: .bt709),
        timeBase: .milliseconds, decoderConfiguration: SharedBytes([1]))
    private static let audio = TrackDescription(
        audio: .aac, format: .program, decoderConfiguration: SharedBytes([0x11, 0x90]))
    /// Payloads that all packets share. A few of the largest payloads together exceed the limit.
    private static let small = [0, 1, 700, 60_000].map { SharedBytes([UInt8](repeating: 0, count: $0)) }
    private static let large = [1, 1 << 20, 5 << 20, 11 << 20].map { SharedBytes([UInt8](repeating: 0, count: $0)) }

    /// A packet of one of three inputs: video in GOPs of random length, audio, or timed text.
    private func arrival(_ time: Int64, _ payloads: [SharedBytes], _ random: inout SeededRandom) -> Arrival {
        let payload = payloads[Int.random(in: payloads.indices, using: &random)]
        let index = Int.random(in: 0...2, using: &random)
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            return Arrival(packet: EncodedPacket(text: "word", at: ProgramInstant(milliseconds: time)), index: index)
        case 1...3:
            let packet = EncodedPacket(
                of: Self.audio, pts: time * 48, dts: time * 48, duration: 1024, isKeyframe: true, payload: payload)
            return Arrival(packet: packet, index: index)
        default:
            let isKeyframe = Int.random(in: 0..<6, using: &random) == 0
            let packet = EncodedPacket(
                of: Self.video, pts: time, dts: time, duration: 40, isKeyframe: isKeyframe, payload: payload)
            return Arrival(packet: packet, index: index)
        }
    }

    private func bytes(_ arrivals: [Arrival]) -> Int { arrivals.reduce(0) { $0 + $1.packet.payload.count } }

    /// The `arrivals` that were not made superfluous by a later keyframe of the same backup.
    private func remaining(_ arrivals: ArraySlice<Arrival>) -> [Arrival] {
        arrivals.indices.filter { place in
            let index = arrivals[place].index
            let later = arrivals[(place + 1)...]
            return index == 0 || !later.contains { $0.index == index && $0.isVideoKeyframe }
        }.map { arrivals[$0] }
    }

    /// The packets that have to be kept after `history`, by definition: all remaining ones since the limit was last
    /// exceeded.
    private func expected(_ history: [Arrival]) -> [Arrival] {
        var begin = 0
        for end in history.indices.map({ $0 + 1 }) where bytes(remaining(history[begin..<end])) > Self.mostBytes {
            begin = end
        }
        return remaining(history[begin...])
    }

    /// The packets that are kept in `air`, which is not changed.
    private func waiting(in air: PassthroughAir) -> [Arrival] {
        var copy = air
        return copy.takeEarly().flatMap { batch in
            batch.packets.map { Arrival(packet: $0, index: batch.index) }
        }
    }

    private func identities(_ arrivals: [Arrival]) -> [ObjectIdentifier] {
        arrivals.map { ObjectIdentifier($0.packet) }
    }

    @Test("Until the program begins, all packets of the first input and the newest GOP of a backup are kept")
    func newestGOP() {
        var random = SeededRandom()
        for _ in 0..<60 {
            var (air, history) = (PassthroughAir(), [Arrival]())
            for time in 0..<Int64.random(in: 1...60, using: &random) {
                let next = arrival(time, Self.small, &random)
                air.keep([next.packet], of: next.index, at: MonotonicInstant(nanoseconds: time))
                history.append(next)
            }
            let kept = waiting(in: air)
            #expect(identities(kept.filter { $0.index == 0 }) == identities(history.filter { $0.index == 0 }))
            for backup in 1...2 {
                let own = history.filter { $0.index == backup }
                let begin = own.lastIndex { $0.isVideoKeyframe } ?? own.startIndex
                #expect(identities(kept.filter { $0.index == backup }) == identities(Array(own[begin...])))
            }
            #expect(identities(kept) == identities(expected(history)))
        }
    }

    @Test("At most 32 MiB of packets are kept until the program begins; beyond that all kept packets are dropped")
    func bounded() {
        var random = SeededRandom()
        var givenUp = 0
        for _ in 0..<60 {
            var (air, history) = (PassthroughAir(), [Arrival]())
            for time in 0..<Int64(40) {
                let next = arrival(time, Self.large, &random)
                air.keep([next.packet], of: next.index, at: MonotonicInstant(nanoseconds: time))
                history.append(next)
                let kept = waiting(in: air)
                #expect(bytes(kept) <= Self.mostBytes)
                if kept.isEmpty { givenUp += 1 }
            }
            #expect(identities(waiting(in: air)) == identities(expected(history)))
        }
        #expect(givenUp > 0)
    }

    @Test("When the program begins, the packets kept until then free their memory for packets that are kept later")
    func taken() {
        var random = SeededRandom()
        for _ in 0..<60 {
            var (air, history) = (PassthroughAir(), [Arrival]())
            for time in 0..<Int64(60) {
                let next = arrival(time, Self.large, &random)
                air.keep([next.packet], of: next.index, at: MonotonicInstant(nanoseconds: time))
                history.append(next)
                guard Int.random(in: 0..<8, using: &random) == 0 else { continue }
                let early = air.takeEarly()
                #expect(early.flatMap(\.packets).map { ObjectIdentifier($0) } == identities(expected(history)))
                #expect(
                    early.allSatisfy { $0.packets[0].track != .video || $0.arrival.nanoseconds == $0.packets[0].pts })
                history = []
                #expect(waiting(in: air).isEmpty)
            }
        }
    }

    @Test("A backup's new keyframe frees the space of its previous GOP, so that GOPs of 20 MiB are not dropped")
    func backupForEver() {
        var air = PassthroughAir()
        for time in 0..<Int64(200) {
            let packet = EncodedPacket(
                of: Self.video, pts: time, dts: time, duration: 40, isKeyframe: time % 4 == 0, payload: Self.large[2])
            air.keep([packet], of: 1, at: MonotonicInstant(nanoseconds: time))
            #expect(waiting(in: air).map(\.packet.pts) == Array((time - time % 4)...time))
        }
    }
}
