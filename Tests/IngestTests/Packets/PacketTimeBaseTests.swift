// SPDX-License-Identifier: Apache-2.0

import Media
import SourceClock
import Testing

@testable import Ingest

/// Tests the time bases that packets have on air, which are finer than milliseconds.
@Suite struct PacketTimeBaseTests {
    private let video = TrackDescription(
        video: .h264, frames: FrameFormat(width: 320, height: 180), timeBase: .milliseconds,
        decoderConfiguration: SharedBytes([1]))
    private let audio = TrackDescription(
        audio: .aac, format: AudioFormat(sampleRate: 44_100, channels: 2), timeBase: .milliseconds,
        decoderConfiguration: SharedBytes([2]), frameLength: 1024)

    private func timeline() -> PacketTimeline {
        PacketTimeline(
            PacketSourceDescription(
                stream: StreamDescription(video: video, audio: audio), canWait: false, clock: .rtmp, stampBits: 32))
    }

    private func packet(_ track: TrackDescription, _ dts: Int64, pts: Int64? = nil, isKeyframe: Bool = true)
        -> EncodedPacket
    {
        EncodedPacket(
            of: track, pts: pts ?? dts, dts: dts, duration: track.kind == .audio ? 23 : 0, isKeyframe: isKeyframe,
            payload: SharedBytes([1, 2, 3]))
    }

    @Test(
        "Audio timestamps that were rounded to milliseconds become exact to the sample, and stay so for 20 minutes",
        arguments: [false, true])
    func samples(isNearest: Bool) throws {
        var timeline = timeline()
        _ = timeline.take(packet(video, 0), at: .zero)
        var last: Int64?
        for number in 0..<50_000 {
            let exact = Double(number) * 1024 / 44.1
            let stamp = Int64(isNearest ? exact.rounded() : exact.rounded(.down))
            let taken = timeline.take(packet(audio, stamp), at: MonotonicInstant(nanoseconds: stamp * 1_000_000))
            let placed = try #require(taken.first)
            #expect(placed.timeBase == TimeBase(1, 44_100) && placed.duration == 1024)
            // The packet's time never differs from the stamp by more than the rounding error and one sample.
            let off: Double = Double(placed.pts) / 44.1 - Double(stamp)
            #expect(abs(off) < 0.523)
            if let last, number > 100 { #expect(placed.pts - last == 1024) }
            last = placed.pts
        }
    }

    @Test("Video times in milliseconds are converted to 90 kHz exactly")
    func frames() {
        var timeline = timeline()
        let stamps: [(Int64, Int64)] = [(5000, 5067), (5033, 5200), (5067, 5133), (5100, 5100), (5300, 5301)]
        for (number, stamp) in stamps.enumerated() {
            let placed = timeline.take(
                packet(video, stamp.0, pts: stamp.1, isKeyframe: number == 0),
                at: MonotonicInstant(nanoseconds: stamp.0 * 1_000_000))
            #expect(placed.map(\.timeBase) == [.mpegTS])
            #expect(placed.map(\.pts) == [(stamp.1 - 5067) * 90] && placed.map(\.dts) == [(stamp.0 - 5067) * 90])
        }
    }

    @Test("Packets refer to the same track descriptions that were announced before the first packet")
    func identity() throws {
        var timeline = timeline()
        let stream = timeline.stream
        let placed = timeline.take(packet(video, 0), at: .zero) + timeline.take(packet(audio, 3), at: .zero)
        #expect(placed.count == 2 && placed.allSatisfy { stream.holds($0) })
    }

    @Test("After a jump of a sender's timestamps, audio begins at the new time without a gradual adjustment")
    func jump() throws {
        var timeline = timeline()
        _ = timeline.take(packet(video, 0), at: .zero)
        let times = [0, 23, 46, 300, 323].compactMap { stamp in
            timeline.take(packet(audio, stamp), at: MonotonicInstant(nanoseconds: stamp * 1_000_000)).first?.pts
        }
        #expect(times.count == 5 && abs(times[3] - 13_230) <= 1 && times[4] == times[3] + 1024)
    }
}
