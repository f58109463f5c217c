// SPDX-License-Identifier: Apache-2.0

import Media
import PacketSamples
import SRT
import Testing

@testable import Publisher

/// When the last message of each frame leaves by SRT and by UDP, without sockets: both spread a frame over its length.
@Suite("Frames by SRT and by UDP")
struct PacedFramesTests {
    private static let millisecond: Int64 = 1_000_000
    private static let messages = 12
    private static let track = TrackDescription(
        video: .h264, frames: FrameFormat(width: 640, height: 360), timeBase: .milliseconds,
        decoderConfiguration: SharedBytes([1]))

    /// Frames that arrive when they are to be decoded. `duration` is what each says of itself, in milliseconds.
    private static func frames(_ steps: [Int64], duration: Int64) -> [EncodedPacket] {
        var time: Int64 = 0
        return ([0] + steps).map { step in
            time += step
            return EncodedPacket(
                of: track, pts: time, dts: time, duration: duration, isKeyframe: false, payload: SharedBytes([1]))
        }
    }

    /// When the last message of each frame carries its time for the receiver, in milliseconds.
    private static func bySRT(_ frames: [EncodedPacket]) -> [Double] {
        var (pace, spacing) = (SRTPace(), FrameSpacing())
        return frames.map { frame in
            spacing.note(frame)
            let now = frame.dtsNanoseconds / 1000
            pace.begin(at: now, spread: spacing.interval / 1000 * 80 / 100)
            let times = (0..<messages).map { pace.next(at: now, remaining: messages - $0) }
            return Double(times.last ?? 0) / 1000
        }
    }

    /// When the last datagram of each frame leaves, in milliseconds: at the latest when the next frame comes.
    private static func byUDP(_ frames: [EncodedPacket]) -> [Double] {
        var (pacing, spacing) = (UDPPacing(), FrameSpacing())
        return frames.indices.map { index in
            spacing.note(frames[index])
            var now = frames[index].dtsNanoseconds
            let next = index + 1 < frames.count ? frames[index + 1].dtsNanoseconds : .max
            pacing.begin(count: messages, at: now, frame: spacing.interval)
            var sent = 0
            while sent < messages, now < next {
                let due = pacing.due(at: now)
                pacing.note(sent: due)
                sent += due
                if sent < messages { now = min(next, now + pacing.tick) }
            }
            return Double(now) / 1e6
        }
    }

    @Test(
        "Behind a gap, and at each still of a variable rate, SRT is never later than UDP by more than a frame",
        arguments: [0, 40, 1000])
    func lateness(duration: Int64) {
        let smooth = [Int64](repeating: 40, count: 12)
        let gaps = [Int64]([100, 500, 2000, 10_000]).flatMap { [$0] + smooth }
        let stills = [Int64]([1000, 40, 1000, 1000, 1000, 1000, 40, 40, 500, 100, 100, 100, 100, 40, 40])
        let frames = Self.frames(smooth + gaps + stills + smooth, duration: duration)
        let late = zip(Self.bySRT(frames), Self.byUDP(frames)).map { $0 - $1 }
        #expect(late.allSatisfy { $0 <= 40 }, "\(late.max() ?? 0) ms")
    }

    @Test("A length that was measured over a gap is not the length of the frame behind it")
    func spacing() {
        var spacing = FrameSpacing()
        var intervals: [Int64] = []
        for frame in Self.frames([40, 40, 2000, 40, 40], duration: 0) {
            spacing.note(frame)
            intervals.append(spacing.interval / Self.millisecond)
        }
        #expect(intervals == [0, 40, 40, 40, 40, 40])
    }
}
