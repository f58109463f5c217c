// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Archive
@testable import Segmenter

@Suite struct ClockTests {
    private static let hour: Int64 = 3_600_000

    /// Returns the first `count` multiples after `start`, in minutes after it.
    private func minutes(_ count: Int, _ period: Duration, _ offset: @escaping WallClockGrid.Offset) throws -> [Int64] {
        let grid = try #require(WallClockGrid(period: period, offset: offset))
        var time = UTCTime(milliseconds: 0)
        return (0..<count).map { _ in
            time = grid.next(after: time)
            return time.milliseconds / 60_000
        }
    }

    @Test func `Cuts at multiples of a duration are computed in local time`() throws {
        #expect(try minutes(3, .seconds(1800)) { _ in 0 } == [30, 60, 90])
        #expect(try minutes(3, .seconds(3600)) { _ in 5 * 3600 + 1800 } == [30, 90, 150])
        #expect(try minutes(2, .seconds(86_400)) { _ in -3600 } == [60, 60 + 1440])
    }

    @Test func `When clocks go forward, no cut is repeated, and cuts in the skipped hour are omitted`() throws {
        // Clocks go forward from 02:00 to 03:00, two hours after the start.
        let spring: WallClockGrid.Offset = { $0.milliseconds >= 2 * Self.hour ? 3600 : 0 }
        #expect(try minutes(5, .seconds(1800), spring) == [30, 60, 90, 120, 150])
        #expect(try minutes(3, .seconds(7200), spring) == [120, 180, 300])
        #expect(try minutes(2, .seconds(86_400), spring) == [23 * 60, 47 * 60])
    }

    @Test
    func `When clocks go back, a file of several hours becomes longer, and shorter files keep their length`() throws {
        // Clocks go back from 03:00 to 02:00, three hours after the start.
        let autumn: WallClockGrid.Offset = { $0.milliseconds >= 3 * Self.hour ? -3600 : 0 }
        #expect(try minutes(9, .seconds(1800), autumn) == [30, 60, 90, 120, 150, 180, 210, 240, 270])
        #expect(try minutes(3, .seconds(7200), autumn) == [120, 300, 420])
        #expect(try minutes(1, .seconds(86_400), autumn) == [25 * 60])
    }

    @Test func `A file length that does not divide a day is not aligned to the wall clock`() {
        #expect(WallClockGrid(period: .seconds(7)) == nil)
        #expect(WallClockGrid(period: .seconds(2 * 86_400)) == nil)
        #expect(WallClockGrid(period: .nanoseconds(500)) == nil)
        #expect(WallClockGrid(period: .seconds(10)) != nil)
    }

    /// Returns the program times in seconds at which files begin, for a program that obeys each keyframe request, and
    /// whose wall clock is `clock` milliseconds ahead of program time at each frame.
    private func starts(_ seconds: Int64, period: Duration, clock: (Int64) -> Int64) throws -> [Double] {
        let rate = FrameRate(25)
        let grid: WallClockGrid = try #require(WallClockGrid(period: period))
        var cutter = SegmentCutter(length: .duration(period), stream: description(rate: rate), grid: grid)
        var wanted: Set<Int64> = [0]
        var starts: [Double] = []
        for frame in 0..<seconds * 25 {
            let due = wanted.filter { $0 <= frame }
            wanted.subtract(due)
            let isKeyframe = !due.isEmpty || frame % 250 == 249
            cutter.setProgramStart(clock(frame / 25))
            let audio = audioPacket(frame * 1920 / 1024)
            for action in cutter.push(videoPacket(frame, rate: rate, isKeyframe: isKeyframe)) + cutter.push(audio) {
                if case .open(let start) = action { starts.append(Double(start.keyframe.pts) / 25) }
                if case .request(let time?) = action {
                    wanted.insert(rate.frame(at: time - .microseconds(1), rounding: .up).number)
                }
            }
        }
        return starts
    }

    @Test func `Files of a recording begin when the wall clock shows a multiple of their length`() throws {
        #expect(
            try starts(70, period: .seconds(10)) { _ in 86_400_000 + 3300 } == [
                0, 6.72, 16.72, 26.72, 36.72, 46.72, 56.72, 66.72,
            ])
        #expect(try starts(5, period: .seconds(1)) { _ in 500 } == [0, 0.52, 1.52, 2.52, 3.52, 4.52])
    }

    @Test func `Setting the wall clock moves one cut between files and does not repeat it`() throws {
        let forward = try starts(60, period: .seconds(10)) { $0 < 15 ? 0 : 3000 }
        #expect(forward == [0, 10, 20, 27, 37, 47, 57])
        let back = try starts(60, period: .seconds(10)) { $0 < 15 ? 0 : -1000 }
        #expect(back == [0, 10, 20, 31, 41, 51])
        let wild = try starts(60, period: .seconds(10)) { $0 * 7919 % 20_000 }
        #expect(wild.count <= 30 && zip(wild, wild.dropFirst()).allSatisfy { $1 - $0 >= 1 })
    }
}
