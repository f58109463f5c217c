// SPDX-License-Identifier: Apache-2.0

import Media
import PacketSamples
import SRT
import Testing

@testable import Publisher

/// Tests when the last message of each frame is sent by SRT and by UDP, without sockets: both spread a frame over its
/// duration.
@Suite("Pacing of frames by SRT and by UDP")
struct PacedFramesTests {
    private static let millisecond: Int64 = 1_000_000
    private static let messages = 12
    private static let track = TrackDescription(
        video: .h264, frames: FrameFormat(width: 640, height: 360), timeBase: .milliseconds,
        decoderConfiguration: SharedBytes([1]))

    /// Returns frames that arrive at their decoding times. `duration` is the duration that each states, in
    /// milliseconds.
    private static func frames(_ steps: [Int64], duration: Int64) -> [EncodedPacket] {
        var time: Int64 = 0
        return ([0] + steps).map { step in
            time += step
            return EncodedPacket(
                of: track, pts: time, dts: time, duration: duration, isKeyframe: false, payload: SharedBytes([1]))
        }
    }

    /// Returns the receiver's time in the last message of each frame, in milliseconds.
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

    /// Returns when the last datagram of each frame is sent, in milliseconds: at the latest when the next frame
    /// arrives.
    private static func byUDP(_ frames: [EncodedPacket]) -> [Double] {
        var (pacing, spacing) = (UDPPacing(), FrameSpacing())
        return frames.indices.map { index in
            spacing.note(frames[index])
            // A frame arrives at its decoding time.
            var now = MonotonicInstant(nanoseconds: frames[index].dtsNanoseconds)
            let next =
                index + 1 < frames.count
                ? MonotonicInstant(nanoseconds: frames[index + 1].dtsNanoseconds) : .distantFuture
            pacing.begin(count: messages, at: now, frame: spacing.interval)
            var sent = 0
            while sent < messages, now < next {
                let due = pacing.due(at: now)
                pacing.note(sent: due)
                sent += due
                if sent < messages { now = min(next, now + .nanoseconds(pacing.tick)) }
            }
            return Double(now.nanoseconds) / 1e6
        }
    }

    @Test(
        "After gaps and still frames, SRT sends a frame at most one frame duration later than UDP",
        arguments: [0, 40, 1000])
    func lateness(duration: Int64) {
        let smooth = [Int64](repeating: 40, count: 12)
        let gaps = [Int64]([100, 500, 2000, 10_000]).flatMap { [$0] + smooth }
        let stills = [Int64]([1000, 40, 1000, 1000, 1000, 1000, 40, 40, 500, 100, 100, 100, 100, 40, 40])
        let frames = Self.frames(smooth + gaps + stills + smooth, duration: duration)
        let late = zip(Self.bySRT(frames), Self.byUDP(frames)).map { $0 - $1 }
        #expect(late.allSatisfy { $0 <= 40 }, "\(late.max() ?? 0) ms")
    }

    @Test("A frame duration that includes a gap is not used to pace the next frame")
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
