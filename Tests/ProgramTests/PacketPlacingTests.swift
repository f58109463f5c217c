// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Program

@Suite("Program times of a source's packets")
struct PacketPlacingTests {
    private static let video = TrackDescription(
        video: .h264, frames: FrameFormat(width: 320, height: 180), timeBase: .mpegTS,
        decoderConfiguration: SharedBytes([1]))
    private static let audio = TrackDescription(
        audio: .aac, format: .program, timeBase: .milliseconds, decoderConfiguration: SharedBytes([0x11, 0x90]),
        frameLength: 1024)

    private func frame(_ number: Int64) -> EncodedPacket {
        EncodedPacket(
            of: Self.video, pts: number * 3600 + 7200, dts: number * 3600, duration: 3600, isKeyframe: number == 0,
            payload: SharedBytes([1]))
    }

    private func steps(_ packets: [EncodedPacket]) -> Set<Int64> {
        Set(zip(packets, packets.dropFirst()).map { $1.dts - $0.dts })
    }

    @Test("A copied sender's intervals are kept while clocks differ by less than 5 ms, then adjusted gradually")
    func drift() {
        var placing = PacketPlacing()
        // The clocks differ by 100 ppm.
        let placed = (0..<Int64(5000)).map { placing.place(frame($0), target: .nanoseconds(1_000_000_000 + $0 * 4000)) }
        #expect(steps(Array(placed.prefix(1200))) == [3600])
        #expect(steps(placed).isSubset(of: [3600, 3601]))
        let end = placed[4999].dtsNanoseconds - frame(4999).dtsNanoseconds
        #expect(abs(end - 1_000_000_000 - 4999 * 4000) <= 5_020_000)
        #expect(placed.allSatisfy { $0.pts - $0.dts == 7200 && $0.duration == 3600 })
    }

    @Test("If copied packets become due later a gap remains; if they become due earlier they catch up gradually")
    func steps() {
        var placing = PacketPlacing()
        let later = (0..<Int64(50)).map { placing.place(frame($0), target: .milliseconds($0 < 25 ? 0 : 300)) }
        #expect(steps(later) == [3600, 30_600])
        let earlier = (50..<Int64(400)).map { placing.place(frame($0), target: .zero) }
        #expect(steps(earlier).isSubset(of: Set(3420...3600)))
        #expect(abs(earlier[349].dts - 399 * 3600) <= 450)
    }

    @Test("After a change of senders packets begin at their due times, and never before earlier packets")
    func another() {
        var placing = PacketPlacing()
        _ = (0..<Int64(25)).map { placing.place(frame($0), target: .zero) }
        let far = placing.place(frame(100_000), target: .seconds(2 - 4000))
        #expect(far.dtsNanoseconds == 2_000_000_000)
        let back = placing.place(frame(0), target: .zero)
        #expect(back.dts > far.dts && back.dts - far.dts <= 2)
    }

    @Test("Copied audio packets follow each other without a gap, even with timestamps in milliseconds")
    func audio() {
        var placing = PacketPlacing()
        let placed = (0..<Int64(500)).map { number in
            let time = (number * 1024 * 1000 + 24_000) / 48_000
            return placing.place(
                EncodedPacket(
                    of: Self.audio, pts: time, dts: time, duration: 21, isKeyframe: true, payload: SharedBytes([1])),
                target: .milliseconds(40))
        }
        #expect(steps(placed) == [1024] && placed[0].dts == 1920)
        #expect(placed.allSatisfy { $0.duration == 1024 && $0.description === placed[0].description })
    }
}
