// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization
import Testing

@testable import FanOut

/// Records published packets.
private final class Receiver: PacketSink {
    private let state = Mutex<(packets: [EncodedPacket], isFinished: Bool)>(([], false))
    var packets: [EncodedPacket] { state.withLock { $0.packets } }
    var isFinished: Bool { state.withLock { $0.isFinished } }

    func publish(_ packet: EncodedPacket) { state.withLock { $0.packets.append(packet) } }
    func finish() { state.withLock { $0.isFinished = true } }
}

@Suite("Forwarding copied packets")
struct PassthroughSinkTests {
    private static let clock = TrackDescription(
        video: .h264, frames: FrameFormat(width: 640, height: 360), timeBase: .milliseconds,
        decoderConfiguration: SharedBytes([1]))

    private func packet(
        _ dts: Int64, pts: Int64? = nil, duration: Int64 = 40, of track: TrackDescription = clock
    ) -> EncodedPacket {
        EncodedPacket(
            of: track, pts: pts ?? dts, dts: dts, duration: duration, isKeyframe: false, payload: SharedBytes([1]))
    }

    private func pass(_ packets: [EncodedPacket]) -> (packets: [EncodedPacket], moved: Int) {
        let receiver = Receiver()
        let sink = PassthroughSink(receiver)
        for packet in packets { sink.publish(packet) }
        sink.finish()
        #expect(receiver.isFinished)
        return (receiver.packets, sink.counts.moved)
    }

    @Test("Copied packets in decoding order are forwarded unchanged and at once, however the tracks are interleaved")
    func untouched() {
        let packets = [Packets.video(3), Packets.audio(0), Packets.video(4), Packets.audio(1)]
        let (passed, moved) = pass(packets)
        let isSame = passed.elementsEqual(packets, by: ===)
        #expect(isSame && moved == 0)
    }

    @Test("A copied packet whose decoding time does not increase gets a later decoding and presentation time")
    func monotonic() {
        let (passed, moved) = pass([packet(0), packet(40), packet(40, pts: 40), packet(20, pts: 30), packet(80)])
        #expect(passed.map(\.dts) == [0, 40, 41, 42, 80])
        #expect(passed.map(\.pts) == [0, 40, 41, 42, 80])
        #expect(moved == 2)
        let shares = passed.allSatisfy { $0.description === Self.clock }
        #expect(shares)
    }

    @Test("A presentation time that precedes its packet's decoding time is set to the decoding time")
    func presentation() {
        #expect(pass([packet(100, pts: 60)]).packets.map(\.pts) == [100])
    }

    @Test(
        "A packet without a duration gets the shortest of the last three intervals, and keeps its timestamps"
    )
    func variableRate() {
        let times: [Int64] = [0, 40, 100, 105, 300]
        let (passed, moved) = pass(times.map { packet($0, duration: 0) })
        #expect(passed.map(\.dts) == times && moved == 0)
        #expect(passed.map(\.duration) == [0, 40, 40, 5, 5])
    }

    @Test("A gap is not used as a packet's duration; a slower frame rate is used after three packets")
    func lengthsBehindGap() {
        let times: [Int64] = [0, 40, 80, 2080, 2120, 2160, 3160, 4160, 5160]
        let passed = pass(times.map { packet($0, duration: 0) }).packets
        #expect(passed.map(\.duration) == [0, 40, 40, 40, 40, 40, 40, 40, 1000])
    }

    @Test("If the encoding changes to another time base and earlier timestamps, times continue after the last packet")
    func otherClock() {
        let fine = TrackDescription(
            video: .hevc, frames: FrameFormat(width: 640, height: 360), timeBase: .mpegTS,
            decoderConfiguration: SharedBytes([1]))
        let (passed, moved) = pass([packet(1000), packet(3600, of: fine), packet(93_600, of: fine)])
        #expect(passed.map(\.dts) == [1000, 90_001, 93_600])
        #expect(moved == 1)
    }
}
