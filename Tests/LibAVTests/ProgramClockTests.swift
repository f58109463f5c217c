// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import LibAV

/// The values of a transport stream's clock, in 90 kHz ticks.
@Suite("Program clock references (PCR) of a transport stream")
struct ProgramClockTests {
    private static let frame: Int64 = 3600
    private static let audio: Int64 = 1920

    private static func video(_ rate: FrameRate, isSteady: Bool = true) -> TrackDescription {
        TrackDescription(
            video: .h264, frames: FrameFormat(width: 320, height: 180), timeBase: isSteady ? rate.timeBase : .mpegTS,
            decoderConfiguration: SharedBytes([1]), nominalRate: rate)
    }

    private static let tone = TrackDescription(
        format: AudioFormat(sampleRate: 48_000, channels: 2), decoderConfiguration: SharedBytes([0x11, 0x90]),
        bitrate: 128_000, frameLength: 1024)

    @Test("At a steady frame rate each frame has a clock reference (PCR) 50 ms before its decoding time")
    func steady() {
        var clock = ProgramClock(StreamDescription(video: Self.video(FrameRate(25)), audio: Self.tone))
        for time in stride(from: Int64(90_000), to: 180_000, by: 3600) {
            let step = clock.next(.video, at: time, lasting: Self.frame, hasOwn: true)
            #expect(step == ProgramClock.Step(own: time - 4500))
            let audio = clock.next(.audio, at: time + 100, lasting: Self.audio, hasOwn: false)
            #expect(audio == ProgramClock.Step())
        }
    }

    @Test("A frame longer than 40 ms has several PCRs, the first more than 50 ms before its decoding time")
    func slow() {
        var clock = ProgramClock(StreamDescription(video: Self.video(FrameRate(10))))
        let step = clock.next(.video, at: 90_000, lasting: 9000, hasOwn: true)
        #expect(step == ProgramClock.Step(own: 76_500, within: [79_500, 82_500]))
        let next = clock.next(.video, at: 99_000, lasting: 9000, hasOwn: true)
        #expect(next == ProgramClock.Step(own: 85_500, within: [88_500, 91_500]))
    }

    @Test("While a frame is overdue, PCRs are sent with the audio, until frames arrive again")
    func overdue() {
        var clock = ProgramClock(StreamDescription(video: Self.video(FrameRate(25)), audio: Self.tone))
        _ = clock.next(.video, at: 90_000, lasting: Self.frame, hasOwn: true)
        var said: [Int64] = [85_500]
        for time in stride(from: Int64(91_000), to: 100_000, by: 1920) {
            let step = clock.next(.audio, at: time, lasting: Self.audio, hasOwn: false)
            said += step.before.map(\.time)
            #expect(step.before.allSatisfy { !$0.isDiscontinuous && $0.time <= time - 4500 })
        }
        let back = clock.next(.video, at: 101_000, lasting: Self.frame, hasOwn: true)
        said += back.before.map(\.time) + [back.own ?? 0]
        #expect(back.own == 96_500)
        #expect(zip(said, said.dropFirst()).allSatisfy { $1 > $0 && $1 - $0 <= 3600 }, "\(said)")
    }

    @Test("A pause of up to a second is filled with PCRs, and a longer pause is announced as a discontinuity")
    func silence() {
        for (length, count, isNew) in [(Int64(90_000), 25, false), (90_001, 1, true)] {
            var clock = ProgramClock(StreamDescription(video: Self.video(FrameRate(25))))
            _ = clock.next(.video, at: 90_000, lasting: Self.frame, hasOwn: true)
            let step = clock.next(.video, at: 90_000 + length, lasting: Self.frame, hasOwn: true)
            #expect(step.before.count + (step.own == nil ? 0 : 1) == count)
            #expect(step.before.contains { $0.isDiscontinuous } == isNew)
        }
    }

    @Test("A track that is too late sets the PCR back once, and is on time from then on")
    func late() {
        var clock = ProgramClock(
            StreamDescription(video: Self.video(FrameRate(25), isSteady: false), audio: Self.tone))
        var jumps = 0
        for time in stride(from: Int64(90_000), to: 450_000, by: 3600) {
            _ = clock.next(.video, at: time, lasting: Self.frame, hasOwn: true)
            let step = clock.next(.audio, at: time - 63_000, lasting: Self.audio, hasOwn: false)
            jumps += step.before.count { $0.isDiscontinuous }
            #expect((clock.newest ?? 0) < time - 63_000)
        }
        #expect(jumps == 1)
    }

    @Test("The PCR is not set back for a track that is seconds late")
    func lost() {
        var clock = ProgramClock(
            StreamDescription(video: Self.video(FrameRate(25), isSteady: false), audio: Self.tone))
        _ = clock.next(.video, at: 900_000, lasting: Self.frame, hasOwn: true)
        let late = clock.next(.audio, at: 600_000, lasting: Self.audio, hasOwn: false)
        #expect(late == ProgramClock.Step())
    }
}
