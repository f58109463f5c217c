// SPDX-License-Identifier: Apache-2.0

import Ingest
import Media
import SourceClock
import Status
import Testing

@testable import Channel

@Suite("Copied packets of an input and its backups")
struct PassthroughAirTests {
    private static let video = TrackDescription(
        video: .h264, frames: FrameFormat(width: 320, height: 180, sampleAspectRatio: .square, color: .bt709),
        timeBase: .milliseconds, decoderConfiguration: SharedBytes([1]), bitrate: 0, nominalRate: nil)

    private func frame(_ time: Int64, isKeyframe: Bool = false, bytes: Int = 1) -> EncodedPacket {
        EncodedPacket(
            of: Self.video, pts: time, dts: time, duration: 40, isKeyframe: isKeyframe,
            payload: SharedBytes([UInt8](repeating: 0, count: bytes)))
    }

    private func moment(_ time: Int64) -> MonotonicInstant { MonotonicInstant(milliseconds: time) }

    private let source = PacketSourceDescription(
        stream: StreamDescription(video: Self.video, audio: nil), canWait: false, clock: .rtmp, stampBits: nil)

    @Test("Until the program begins, all packets of the first input are kept, but only the newest GOP of a backup")
    func early() {
        var air = PassthroughAir()
        for time in stride(from: Int64(0), through: 2040, by: 40) {
            for input in 0...1 {
                air.keep([frame(time, isKeyframe: time % 1000 == 0)], of: input, at: moment(time))
            }
        }
        let kept = air.takeEarly()
        #expect(kept.filter { $0.index == 0 }.map(\.packets[0].dts).first == 0)
        #expect(kept.filter { $0.index == 1 }.map(\.packets[0].dts) == [2000, 2040])
        #expect(air.takeEarly().isEmpty)
    }

    @Test("Packets that wait for the program to begin are dropped if their input is closed or opened again")
    func reopened() {
        var air = PassthroughAir()
        for input in 0...2 { air.open(input, source) }
        for input in 0...2 { air.keep([frame(0, isKeyframe: true)], of: input, at: moment(0)) }
        air.close(1)
        air.open(2, source)
        #expect(air.takeEarly().map(\.index) == [0])
    }

    @Test("Late packets from before an input was reopened are neither put on air nor kept")
    func stale() {
        for hasBegun in [false, true] {
            var air = PassthroughAir()
            air.hasBegun = hasBegun
            let first = air.open(0, source)
            air.splicer.show(0)
            // The times of the first opening's keyframe are converted, and then the thread that delivers the keyframe
            // is blocked until the input is open again.
            let blocked = air.time(frame(7000, isKeyframe: true), of: first, at: moment(0))
            #expect(blocked.count == 1)
            let second = air.open(0, source)
            #expect(!air.isCurrent(first) && air.isCurrent(second))
            let late = air.take(blocked, of: first, at: moment(100), until: nil, slate: 1).packets
            let later = take(frame(7040, isKeyframe: true), of: first, &air)
            #expect(late.isEmpty && later.isEmpty && air.status.packets == 0)
            air.noteVideo(of: first, at: moment(100))
            #expect(air.newest[0] == nil && air.takeEarly().isEmpty)
            // The new opening begins with its own keyframe, at the beginning of the program.
            let packets = take(frame(90_000, isKeyframe: true), of: second, &air)
            #expect(packets.map(\.pts) == (hasBegun ? [0] : []) && air.takeEarly().count == (hasBegun ? 0 : 1))
            air.noteVideo(of: second, at: moment(200))
            #expect(air.newest[0] == moment(200))
            air.close(0)
            #expect(!air.isCurrent(second) && air.newest.isEmpty)
        }
    }

    @Test("If more than 32 MiB of packets wait for the program to begin, the program begins with later packets")
    func bound() {
        var air = PassthroughAir()
        for time in 0..<32 { air.keep([frame(Int64(time), bytes: 1 << 20)], of: 0, at: moment(Int64(time))) }
        #expect(air.takeEarly().count == 32)
        for time in 0..<33 { air.keep([frame(Int64(time), bytes: 1 << 20)], of: 0, at: moment(Int64(time))) }
        #expect(air.takeEarly().isEmpty)
    }

    @Test("An input that is to be closed stays on air until the keyframe of the next input")
    func leaves() {
        var air = PassthroughAir()
        for input in 0...1 { air.open(input, source) }
        air.splicer.show(0)
        _ = air.splicer.take(frame(0, isKeyframe: true), of: 0, at: moment(0))
        air.closing = [0]
        air.splicer.show(1)
        _ = air.splicer.take(frame(40), of: 1, at: moment(40))
        #expect(air.takeLeft() == [])
        _ = air.splicer.take(frame(2000, isKeyframe: true), of: 1, at: moment(2000))
        #expect(air.takeLeft() == [0])
        #expect(air.closing.isEmpty && air.takeLeft() == [])
    }

    @Test("A slate takes its format from the input that was on air last, not from an earlier slate")
    func shown() {
        var air = PassthroughAir()
        air.hasBegun = true
        let turns = (0...1).map { air.open($0, source) }
        air.splicer.show(1)
        #expect(take(frame(0, isKeyframe: true), of: turns[1], &air).count == 1 && air.shown == nil)
        air.splicer.show(0)
        #expect(take(frame(0, isKeyframe: true), of: turns[0], &air).count == 1)
        #expect(air.shown?.video?.frameFormat?.width == 320)
        #expect(air.status.packets == 2)
    }

    /// Lets `air`, whose slate is the input 1, take a packet of an input that arrives at its time.
    private func take(
        _ packet: EncodedPacket, of turn: PassthroughTurn, _ air: inout PassthroughAir
    ) -> [EncodedPacket] {
        let arrival = moment(packet.dts)
        return air.take(
            air.time(packet, of: turn, at: arrival), of: turn, at: arrival, until: nil, slate: 1
        ).packets
    }
}
