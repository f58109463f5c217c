// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Media

@Suite("Time base")
struct TimeBaseTests {
    @Test("Frame times of a whole day at 29.97 fps are converted to milliseconds without drift")
    func dayOfNTSC() {
        let frames = TimeBase(1001, 30000)
        let day: Int64 = 24 * 3600 * 30000 / 1001
        var previous: Int64 = -1
        for frame in stride(from: Int64(0), through: day, by: 997) {
            let milliseconds = frames.rescale(frame, to: .milliseconds, rounding: .down)
            // The exact time is in [ms, ms + 1). The check uses integers, so that it has no rounding errors itself.
            #expect(milliseconds * 30000 <= frame * 1001 * 1000)
            #expect((milliseconds + 1) * 30000 > frame * 1001 * 1000)
            #expect(milliseconds > previous)
            previous = milliseconds
        }
    }

    @Test("A duration in nanoseconds is rounded toward zero, and clamped where 64 bits are too few")
    func nanoseconds() {
        let attosecond = Duration(secondsComponent: 0, attosecondsComponent: 1)
        // Durations of more than 9.2 s have more attoseconds than fit in 64 bits.
        for whole: Int64 in [1, 999_999_999, 9_223_372_036, 9_223_372_037, 12_345_678_901_234_567, .max - 1] {
            for sign: Int64 in [1, -1] {
                let duration = Duration.nanoseconds(whole * sign)
                #expect(duration.inNanoseconds == whole * sign)
                #expect((duration + attosecond * Int(sign)).inNanoseconds == whole * sign)
                #expect((duration - attosecond * Int(sign)).inNanoseconds == (whole - 1) * sign)
            }
        }
        #expect((Duration.nanoseconds(Int64.max) + .nanoseconds(1)).inNanoseconds == .max)
        #expect((Duration.nanoseconds(Int64.min) - .nanoseconds(1)).inNanoseconds == .min)
        #expect(Duration.zero.inNanoseconds == 0)
    }

    @Test(
        "Frame numbers converted to samples and back are the same frame numbers",
        arguments: [
            FrameRate(30000, 1001), FrameRate(25), FrameRate(30), FrameRate(24000, 1001), FrameRate(60),
        ])
    func roundTrip(rate: FrameRate) {
        let samples = TimeBase(1, 48_000)
        for frame in stride(from: Int64(0), through: 5_000_000, by: 4999) {
            let position = rate.timeBase.rescale(frame, to: samples, rounding: .nearest)
            #expect(samples.rescale(position, to: rate.timeBase, rounding: .nearest) == frame)
        }
    }

    @Test("A conversion between time bases rounds in the requested direction, even for negative times")
    func rounding() {
        let half = TimeBase(1, 2)
        let whole = TimeBase(1, 1)
        #expect(half.rescale(3, to: whole, rounding: .down) == 1)
        #expect(half.rescale(3, to: whole, rounding: .up) == 2)
        #expect(half.rescale(3, to: whole, rounding: .nearest) == 2)
        #expect(half.rescale(-3, to: whole, rounding: .down) == -2)
        #expect(half.rescale(-3, to: whole, rounding: .up) == -1)
        #expect(half.rescale(-3, to: whole, rounding: .nearest) == -1)
    }

    @Test("Extreme tick counts are clamped, and never crash the process")
    func extremes() {
        #expect(TimeBase(1, 1).rescale(.max, to: .nanoseconds) == .max)
        #expect(TimeBase(1, 1).rescale(.min, to: .nanoseconds) == .min)
        #expect(TimeBase.nanoseconds.rescale(.max, to: TimeBase(1, 1), rounding: .down) == 9_223_372_036)
    }

    @Test("A frame rate is reduced to lowest terms, and gives the number of frames in a duration")
    func frameRate() {
        #expect(FrameRate(60000, 2002) == FrameRate(30000, 1001))
        #expect(FrameRate(30).frames(atLeast: .seconds(2)) == 60)
        #expect(FrameRate(30000, 1001).frames(atLeast: .seconds(2)) == 60)
        #expect(FrameRate(25).frames(atLeast: .milliseconds(1)) == 1)
    }
}

@Suite("Audio buffer")
struct AudioBufferTests {
    @Test("A slice of an audio buffer keeps the positions of its samples")
    func slice() {
        let ramp = (0..<10).map(Float.init)
        let buffer = AudioBuffer(position: 100, format: .init(sampleRate: 48_000, channels: 1), channels: [ramp])
        let slice = buffer.slice(95..<104)
        #expect(slice.position == 100)
        #expect(slice.channels[0] == [0, 1, 2, 3])
        #expect(buffer.slice(200..<300).count == 0)
    }
}
