// SPDX-License-Identifier: Apache-2.0

import Archive
import Media
import TestSupport
import Testing

@testable import Segmenter

@Suite("When a file of a recording is long enough")
struct SegmentScheduleTests {
    private let rate = FrameRate(25)

    /// Returns the keyframe at `milliseconds` of the program.
    private func keyframe(_ milliseconds: Int64) -> EncodedPacket {
        videoPacket(milliseconds / 40, rate: rate, isKeyframe: true)
    }

    @Test("The ends of a file and of those within the next 5 s are requested when the file begins, each end once")
    func requests() {
        var schedule = SegmentSchedule(length: .duration(.seconds(2)))
        #expect(schedule.boundary == nil)
        let (first, boundary) = (schedule.begin(at: keyframe(0)), schedule.boundary)
        #expect(first == [2_000_000_000, 4_000_000_000] && boundary == 2_000_000_000)
        let second = schedule.begin(at: keyframe(2000))
        #expect(second == [6_000_000_000] && schedule.boundary == 4_000_000_000)
    }

    @Test("The end of a file is requested when the file begins, even if it is far in the future")
    func farEnd() {
        var schedule = SegmentSchedule(length: .duration(.seconds(1800)))
        let requests = schedule.begin(at: keyframe(0))
        #expect(requests == [.zero + .seconds(1800)])
    }

    @Test("A file that begins late ends at the next multiple of the length, counted from the recording's first frame")
    func lateFile() {
        var schedule = SegmentSchedule(length: .duration(.seconds(10)))
        _ = schedule.begin(at: keyframe(3000))
        #expect(schedule.boundary == 13_000_000_000)
        #expect(!schedule.isCut(keyframe(12_960)) && schedule.isCut(keyframe(13_000)))
        _ = schedule.begin(at: keyframe(16_000))
        #expect(schedule.boundary == 23_000_000_000)
        _ = schedule.begin(at: keyframe(53_000))
        #expect(schedule.boundary == 63_000_000_000, "a multiple that is reached exactly does not end the file")
    }

    @Test("A requested end counts until a file begins at it or after it, and only the 64 newest requests are kept")
    func requestedEnds() {
        var schedule = SegmentSchedule(length: nil)
        for second in Int64(1)...70 { schedule.requestCut(at: .zero + .seconds(second)) }
        #expect(schedule.boundary == 7_000_000_000)
        #expect(!schedule.isCut(keyframe(6960)) && schedule.isCut(keyframe(7000)))
        let requests = schedule.begin(at: keyframe(8000))
        #expect(requests.isEmpty && schedule.boundary == 9_000_000_000)
    }

    @Test("A keyframe is requested once, when the largest recent GOP would not fit into the file any more")
    func size() {
        var schedule = SegmentSchedule(length: .bytes(1000))
        _ = schedule.begin(at: keyframe(0))
        let (first, isEarly) = (schedule.wrote(400, beginsGroup: true), schedule.isCut(keyframe(1000)))
        #expect(!first && !isEarly)
        let (second, third) = (schedule.wrote(100, beginsGroup: false), schedule.wrote(1, beginsGroup: false))
        #expect(second && !third && schedule.isCut(keyframe(1000)))
        _ = schedule.begin(at: keyframe(1000))
        #expect(!schedule.isCut(keyframe(2000)))
    }

    @Test("One large GOP does not shorten a file for long, and the file stays below its size")
    func largeGroup() {
        var schedule = SegmentSchedule(length: .bytes(2000))
        _ = schedule.begin(at: keyframe(0))
        let isRequested = schedule.wrote(800, beginsGroup: true)
        #expect(!isRequested)
        var groups = 1
        while !schedule.wrote(100, beginsGroup: true) { groups += 1 }
        // The file would end after four such GOPs if the large GOP counted until the end.
        #expect(groups == 10)
    }

    @Test("With a wall clock, files end at multiples of their length; one repeated by a step back is skipped")
    func wallClock() throws {
        let grid: WallClockGrid = try #require(WallClockGrid(period: .seconds(10)))
        var schedule = SegmentSchedule(length: .duration(.seconds(10)), grid: grid)
        schedule.programStart = UTCTime(milliseconds: 86_400_000 + 3300)
        _ = schedule.begin(at: keyframe(0))
        #expect(schedule.boundary == 6_700_000_000)
        // The clock is set back by 120 ms, so that it shows 100 ms before the multiple at which this file begins.
        schedule.programStart = UTCTime(milliseconds: 86_400_000 + 3180)
        _ = schedule.begin(at: keyframe(6720))
        #expect(schedule.boundary == 16_820_000_000)
    }

    // Regression: the search for the next end, after an end that no clock reaches, never returned.
    @Test("A file whose end is later than any clock can show never ends, and can be begun without hanging")
    func endless() {
        var schedule = SegmentSchedule(length: .duration(.seconds(106_751 * 86_400)))
        let day = schedule.begin(at: keyframe(100_000_000))
        #expect(day == [.distantFuture] && schedule.boundary == .distantFuture)
        #expect(!schedule.isCut(keyframe(200_000_000)))
    }
}
