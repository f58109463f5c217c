// SPDX-License-Identifier: Apache-2.0

import Media
import Program
import TestSupport
import Testing

@testable import Studio

@Suite("Positions of a run-down")
struct RunDownPlaceTests {
    private static let rates = [
        FrameRate(24_000, 1001), FrameRate(25), FrameRate(30_000, 1001), FrameRate(50), FrameRate(60_000, 1001),
    ]

    /// The frame nearest to `time` after the frame `anchor`.
    private func frame(_ time: Duration, after anchor: FrameIndex, at rate: FrameRate) -> FrameIndex {
        anchor + rate.timeBase.ticks(time)
    }

    @Test(
        "After a day of segments of any length, each segment begins at the frame nearest to its time",
        arguments: rates)
    func noDrift(rate: FrameRate) {
        var random = SeededRandom()
        let lengths = (0..<7).map { _ in Duration.milliseconds(Int64.random(in: 100...9000, using: &random)) }
        var (place, time) = (RunDownPlace(segment: 0, anchor: 1000), Duration.zero)
        while time < .seconds(86_400) {
            let length = lengths[place.segment % lengths.count]
            time += length
            guard let end = place.end(after: .time(length), at: rate) else {
                Issue.record("a segment with a length has an end")
                return
            }
            #expect(end == frame(time, after: 1000, at: rate))
            (place.anchor, place.offset) = place.following(.time(length), end: end, at: rate)
            place.segment += 1
            if place.start(at: rate) != end {
                Issue.record("segment \(place.segment) begins at \(place.start(at: rate)), the last ends at \(end)")
                return
            }
        }
    }

    @Test("A segment has at least one frame, and the next segment begins where it ended", arguments: rates)
    func shortest(rate: FrameRate) throws {
        let place = RunDownPlace(segment: 0, anchor: 50, offset: .milliseconds(10))
        let start = place.start(at: rate)
        for length in [RunDown.Length.time(.zero), .time(.nanoseconds(1)), .frames(0), .frames(1)] {
            let end = try #require(place.end(after: length, at: rate))
            let (anchor, offset) = place.following(length, end: end, at: rate)
            let next = RunDownPlace(segment: 1, anchor: anchor, offset: offset)
            #expect(end == start + 1 && next.start(at: rate) == end, "\(length)")
        }
        #expect(place.end(after: .end, at: rate) == nil && place.end(after: .take, at: rate) == nil)
        // If a segment ends with its file or by an operator's command, later times are counted from its end.
        let taken = place.following(.take, end: 777, at: rate)
        #expect(taken.anchor == 777 && taken.1 == .zero)
    }

    @Test(
        "The views of a segment change at the frames nearest to multiples of their time, and never go back",
        arguments: rates)
    func views(rate: FrameRate) {
        let place = RunDownPlace(segment: 0, anchor: 300, offset: .milliseconds(17))
        for every in [Duration.milliseconds(40), .milliseconds(333), .seconds(5)] {
            var last: Int64 = 0
            for step in Int64(0)..<500 {
                let frame = place.start(at: rate) + step
                let view = place.views(before: frame, every: every, at: rate)
                let begin = FrameIndex(300) + rate.timeBase.ticks(place.offset + every * Int(view))
                let next = FrameIndex(300) + rate.timeBase.ticks(place.offset + every * Int(view + 1))
                #expect(view >= last && (view == 0 || begin <= frame) && frame < next)
                last = view
            }
        }
    }

    @Test("A length in seconds is written exactly, without zeros at its end")
    func decimals() {
        #expect("\(DecimalSeconds(.zero))" == "0" && "\(DecimalSeconds(.seconds(-1)))" == "0")
        #expect("\(DecimalSeconds(.seconds(5)))" == "5" && "\(DecimalSeconds(.milliseconds(12_500)))" == "12.5")
        #expect("\(DecimalSeconds(.nanoseconds(1)))" == "0.000000001")
        var random = SeededRandom()
        for _ in 0..<1000 {
            let nanoseconds = Int64.random(in: 0..<1_000_000_000_000_000, using: &random)
            let text = "\(DecimalSeconds(.nanoseconds(nanoseconds)))"
            let parts = text.split(separator: ".")
            let padded = (parts.count > 1 ? String(parts[1]) : "") + String(repeating: "0", count: 9)
            #expect(Int64(parts[0] + padded.prefix(9)) == nanoseconds && !(text.contains(".") && text.hasSuffix("0")))
        }
    }
}
