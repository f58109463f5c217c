// SPDX-License-Identifier: Apache-2.0

import Media
import Segmenter
import Testing

@testable import Library

@Suite("The forecast of deletions")
struct RetentionForecastTests {
    private static let (now, hour): (Int64, Int64) = (1_800_000_000_000, 3_600_000)

    /// Returns the estimated times, in seconds from now, at which `count` files of 1 GB are deleted. The files ended at
    /// intervals of an hour, the last one now.
    private func seconds(
        _ count: Int, room: Int64?, rate: Double?, least: Duration = .zero, keep: Duration? = nil
    ) -> [Int64?] {
        let rules = RetentionRules(maximumAge: keep, maximumBytes: 1, minimumAge: least)
        var forecast = RetentionForecast(rules: rules, room: room, rate: rate, now: Self.now)
        return (0..<count).map { number in
            let end = Self.now - Int64(count - 1 - number) * Self.hour
            let expiry = keep.map { end + $0.inNanoseconds / 1_000_000 }
            return forecast.time(ofNext: 1_000_000_000, end: end, expiry: expiry).map { ($0 - Self.now) / 1000 }
        }
    }

    @Test("Each file is deleted when the recording has used up the room, and the space of the files deleted before")
    func filling() {
        #expect(seconds(3, room: 500_000_000, rate: 1_000_000) == [500, 1500, 2500])
        // Two files are due already. With the space of the third, recording can continue for a quarter of an hour.
        #expect(seconds(4, room: -1_100_000_000, rate: 1_000_000) == [0, 0, 900, 1900])
    }

    @Test("No file is deleted before its minimum age, and an older file can be deleted for its age first")
    func ages() {
        let times = seconds(3, room: -5_000_000_000, rate: 1_000_000, least: .seconds(2 * 3600))
        #expect(times == [0, 3600, 7200])
        let old = seconds(3, room: 1_000_000_000, rate: 1_000_000, keep: .seconds(2 * 3600 + 900))
        #expect(old == [900, 2000, 3000])
    }

    @Test("Without a known room or rate, or without a recording, only files that are due or too old get a time")
    func unknown() {
        #expect(seconds(2, room: nil, rate: 1_000_000) == [nil, nil])
        #expect(seconds(2, room: 1, rate: nil) == [nil, nil])
        #expect(seconds(2, room: -1, rate: 0) == [0, nil])
        #expect(seconds(2, room: nil, rate: 0, keep: .seconds(3600)) == [0, 3600])
        #expect(seconds(1, room: .max, rate: 0.001) == [nil])
    }
}
