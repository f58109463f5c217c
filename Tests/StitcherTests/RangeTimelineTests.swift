// SPDX-License-Identifier: Apache-2.0

import Archive
import Testing

@testable import Stitcher

/// Positions of recordings of 60 frames at 30 frames a second, in ticks of 1/3000 s and in samples.
@Suite struct RangeTimelineTests {
    @Test func `A file of the same run begins where its program time says, and its audio continues the audio before`()
        throws
    {
        // The 93 packets of the first file end 768 samples before the second file's first frame.
        let next = source("b", startsAt: 60, audioFrom: 93)
        let timeline = try RangeTimeline([source("a"), next])
        #expect(timeline.places == [.init(video: 0, audio: 0), .init(video: 6000, audio: 96_000)])
        #expect(timeline.gaps.isEmpty)
        // A sample or two are a rounding error; more are not.
        for (samples, place) in [(Int64(1), Int64(95_999)), (2, 95_998), (3, 96_000)] {
            var rounded = next
            let range = try #require(next.audio?.range)
            rounded.audio?.range = range.lowerBound + samples..<range.upperBound
            #expect(try RangeTimeline([source("a"), rounded]).places[1].audio == place)
        }
    }

    @Test func `Missing frames of a run are a gap, after which audio is where its file says`() throws {
        let timeline = try RangeTimeline([source("a"), source("b", startsAt: 75, audioFrom: 117)])
        #expect(timeline.places[1] == .init(video: 7500, audio: 120_000))
        let (end, start) = (UTCTime(milliseconds: 1_002_000), UTCTime(milliseconds: 1_002_500))
        #expect(timeline.gaps.map(\.from) == [end.extended] && timeline.gaps.map(\.to) == [start.extended])
    }

    @Test func `Files of different runs are apart by the wall clock, which may be wrong by two seconds`() throws {
        func place(startsAt milliseconds: Int64) throws -> Int64 {
            var other = source("b", run: "s")
            other.created = milliseconds
            let timeline = try RangeTimeline([source("a"), other])
            #expect(timeline.gaps.count == (timeline.places[1].video > 6000 ? 1 : 0))
            return timeline.places[1].video
        }
        // The first file is over at 1002 s.
        #expect(try place(startsAt: 1_003_000) == 9000)
        #expect(try place(startsAt: 1_002_000) == 6000 && place(startsAt: 1_000_000) == 6000)
        #expect(throws: ClipFailure.self) { try place(startsAt: 999_999) }
    }
}
