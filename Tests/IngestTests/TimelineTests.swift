// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Ingest

@Suite("Timelines of sources")
struct TimelineTests {
    @Test("Audio whose timestamps are rounded to milliseconds continues without jumps")
    func roundedAudio() {
        var timeline = AudioTimeline(sampleRate: 48_000)
        var moved = 0
        for index in 0..<1000 {
            let exact = Int64(index) * 1024
            let milliseconds = TimeBase(1, 48_000).rescale(exact, to: .milliseconds)
            let stated = TimeBase.milliseconds.rescale(milliseconds, to: TimeBase(1, 48_000))
            if case .starts = timeline.place(stated: stated) { moved += 1 }
            timeline.advance(to: exact + 1024)
        }
        #expect(moved == 1)
    }

    @Test("Audio whose timestamp differs by more than the tolerance is moved to its timestamp, forward or back")
    func jumps() {
        var timeline = AudioTimeline(sampleRate: 48_000)
        #expect(timeline.place(stated: 100) == .starts(at: 100))
        timeline.advance(to: 1124)
        #expect(timeline.place(stated: 1124 + 384) == .continues)
        #expect(timeline.place(stated: 1124 + 385) == .starts(at: 1509))
        #expect(timeline.place(stated: 1124 - 385) == .starts(at: 739))
        #expect(timeline.place(stated: nil) == .continues)
    }

    // Regression: one wrong timestamp moved a run of a file's audio by 8.7 s, and all audio up to there was missing.
    @Test("A timestamp that jumps is wrong if the next one returns to the audio before, or if none follows")
    func outlier() {
        var timeline = AudioTimeline(sampleRate: 48_000)
        timeline.advance(to: 10_000)
        for jump: Int64 in [400, 4800, 480_000, -400, -9000] {
            let stated = 10_000 + jump
            #expect(timeline.returns(11_024, after: 1024, stated: stated))
            #expect(timeline.returns(11_024 + 40, after: 1024, stated: stated))
            #expect(timeline.returns(nil, after: 1024, stated: stated))
            #expect(!timeline.returns(stated + 1024, after: 1024, stated: stated))
            #expect(!timeline.returns(stated + 1024 - 40, after: 1024, stated: stated))
        }
    }

    @Test("The first frame of a source gets the time 0, whatever its timestamp is")
    func origin() {
        var timeline = SourceTimeline(timeBase: .mpegTS, frameDuration: 3600)
        #expect(timeline.position(of: 0, in: .mpegTS, rate: TimeBase(1, 48_000)) == nil)
        expect(timeline.place(126_000), 0)
        expect(timeline.place(129_600), 3600)
        #expect(timeline.position(of: 126_000 + 90_000, in: .mpegTS, rate: TimeBase(1, 48_000)) == 48_000)
    }

    @Test("A frame without a timestamp follows at the nominal frame rate, and no two frames have the same time")
    func reconstruction() {
        var timeline = SourceTimeline(timeBase: .milliseconds, frameDuration: 40)
        expect(timeline.place(nil), 0)
        expect(timeline.place(nil), 40)
        expect(timeline.place(30), 41)
    }

    @Test("The rounds of a looped file are joined at the end of the last frame")
    func rounds() {
        var timeline = SourceTimeline(timeBase: .milliseconds, frameDuration: 40)
        _ = timeline.place(1000)
        _ = timeline.place(1040)
        #expect(timeline.end(in: TimeBase(1, 48_000)) == 3840)
        let begun = timeline.beginRound()
        #expect(begun)
        #expect(timeline.start(in: TimeBase(1, 48_000)) == 3840)
        expect(timeline.place(1000), 80)
        #expect(timeline.position(of: 1000, in: .milliseconds, rate: TimeBase(1, 48_000)) == 3840)
    }

    @Test("A looped file is not repeated again after a round that gave no frame")
    func emptyRound() {
        var timeline = SourceTimeline(timeBase: .milliseconds, frameDuration: 40)
        var begun = [timeline.beginRound()]
        _ = timeline.place(0)
        begun.append(timeline.beginRound())
        begun.append(timeline.beginRound())
        #expect(begun == [false, true, false])
    }

    @Test("A jump of a transport stream's clock moves both tracks by the same amount")
    func discontinuity() {
        var filter = DiscontinuityFilter()
        expect(filter.shift(dts: 90_000, stream: 0, base: .mpegTS), 0)
        expect(filter.shift(dts: 93_600, stream: 0, base: .mpegTS), 0)
        let shift = filter.shift(dts: 9_000_000, stream: 0, base: .mpegTS)
        #expect(shift == 97_200 - 9_000_000)
        expect(filter.shift(dts: 9_000_000, stream: 1, base: .mpegTS), shift)
    }

    @Test(
        "If two tracks reach a jump in time one after the other, both get the same correction",
        arguments: [9_000_000, 90_000])
    func crossing(second: Int64) {
        var filter = DiscontinuityFilter()
        for dts in stride(from: Int64(900_000), to: 1_080_000, by: 3600) {
            expect(filter.shift(dts: dts, stream: 0, base: .mpegTS), 0)
            if dts < 1_062_000 { expect(filter.shift(dts: dts, stream: 1, base: .mpegTS), 0) }
        }
        let shift = 1_080_000 - second
        for index in Int64(0)..<5 {
            expect(filter.shift(dts: second + index * 3600, stream: 0, base: .mpegTS), shift)
            // Audio from before the jump that arrives after it keeps the old correction.
            expect(filter.shift(dts: 1_062_000 + index * 3600, stream: 1, base: .mpegTS), 0)
        }
        for index in Int64(5)..<10 {
            expect(filter.shift(dts: second + index * 3600, stream: 0, base: .mpegTS), shift)
            expect(filter.shift(dts: second + (index - 5) * 3600, stream: 1, base: .mpegTS), shift)
        }
    }

    @Test(
        "One wrong timestamp of a transport stream's file leaves audio and video in sync",
        arguments: [0.1, -0.1, 0.15, -0.15, 1.5, -1.5, 9.9, -9.9, 11, -11] as [Double], [0, 1, 2, 30] as [Int64])
    func wrongTime(seconds: Double, at outlier: Int64) {
        for stream in [0, 1] where outlier > 0 || abs(seconds) < 10 {
            var filter = DiscontinuityFilter()
            for index in Int64(0)..<100 {
                let dts = 1_800_000 + index * 3600
                for other in [0, 1] {
                    let isWrong = other == stream && index == outlier
                    let shift = filter.shift(
                        dts: dts + (isWrong ? Int64(seconds * 90_000) : 0), stream: other, base: .mpegTS)
                    if !isWrong { #expect(shift == 0, "stream \(other), packet \(index)") }
                }
            }
        }
    }

    @Test(
        "Frame rates are rounded to the nearest standard rate",
        arguments: [
            (FrameRate(2997, 100), FrameRate(90_000), FrameRate(30_000, 1001)),
            (FrameRate(24), FrameRate(24), FrameRate(24)),
            (FrameRate(23_976, 1000), FrameRate(1000), FrameRate(24_000, 1001)),
            (FrameRate(273, 10), FrameRate(30), FrameRate(30)),
            (FrameRate(273, 10), FrameRate(90_000), FrameRate(30)),
            (FrameRate(240), FrameRate(240), FrameRate(120)),
            (FrameRate(18), FrameRate(18), FrameRate(18)),
        ])
    func rates(average: FrameRate, base: FrameRate, expected: FrameRate) {
        #expect(NominalRate.of(average: average, base: base) == expected)
    }
}

/// Compares the result of a mutating call, which the macro cannot expand.
private func expect<T: Equatable>(_ found: T, _ wanted: T, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(found == wanted, sourceLocation: sourceLocation)
}
