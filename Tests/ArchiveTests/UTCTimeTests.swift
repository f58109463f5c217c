// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Archive

@Suite struct UTCTimeTests {
    /// The years 0 to 9999, in milliseconds since 1970.
    private static let years: Range<Int64> = -62_167_219_200_000..<253_402_300_800_000

    @Test func `A UTC time is read back as it was written, and an invalid text is refused`() {
        for milliseconds: Int64 in [0, 951_782_399_999, 951_868_800_001, 1_795_269_790_123, 4_102_444_799_500] {
            let time = UTCTime(milliseconds: milliseconds)
            #expect(UTCTime(extended: time.extended) == time)
        }
        for text in [
            "", "2026-11-21", "2026-13-21T14:03:10.123Z", "2026-11-21T14:03:10.123+", "2026-11-21T24:03:10.123Z",
        ] {
            #expect(UTCTime(extended: text) == nil)
        }
    }

    @Test func `Any time in the years 0 to 9999 is read back as it was written, in both formats`() {
        var random = SeededRandom()
        var times = (0..<3000).map { _ in UTCTime(milliseconds: .random(in: Self.years, using: &random)) }
        // The first and last days of years, and the days around the leap day, also in years that end a century.
        for year in ["0000", "0001", "0004", "0100", "0400", "1600", "1900", "1970", "2000", "2100", "9999"] {
            for day in ["01-01", "02-28", "03-01", "12-31"] {
                guard let time = UTCTime(extended: "\(year)-\(day)T23:59:59.999Z") else {
                    Issue.record("\(year)-\(day) is not read")
                    continue
                }
                #expect(time.extended == "\(year)-\(day)T23:59:59.999Z")
                times += [time, UTCTime(milliseconds: time.milliseconds + 1)]
            }
        }
        for time in times where Self.years.contains(time.milliseconds) {
            #expect(UTCTime(extended: time.extended) == time)
            #expect(UTCTime(basic: time.basic) == time)
        }
    }

    @Test func `Times written as text sort in the same order as the times themselves`() {
        var random = SeededRandom()
        let times = (0..<1000).map { _ in Int64.random(in: Self.years, using: &random) }.sorted()
        let extended = times.map { UTCTime(milliseconds: $0).extended }
        #expect(extended == extended.sorted())
        let basic = times.map { UTCTime(milliseconds: $0).basic }
        #expect(basic == basic.sorted())
    }

    // Regression: 2026-02-30 was taken for the 2nd of March.
    @Test func `A day that does not exist in its month is refused`() {
        for text in [
            "2026-02-29T00:00:00.000Z", "2026-02-30T00:00:00.000Z", "2024-02-30T00:00:00.000Z",
            "1900-02-29T00:00:00.000Z", "2026-04-31T00:00:00.000Z", "2026-06-31T00:00:00.000Z",
            "2026-09-31T00:00:00.000Z", "2026-11-31T00:00:00.000Z", "2026-01-32T00:00:00.000Z",
            "2026-01-00T00:00:00.000Z", "2026-00-01T00:00:00.000Z",
        ] {
            #expect(UTCTime(extended: text) == nil, "\(text)")
        }
        for text in ["2024-02-29T00:00:00.000Z", "2000-02-29T00:00:00.000Z", "0000-02-29T00:00:00.000Z"] {
            #expect(UTCTime(extended: text)?.extended == text)
        }
    }

    @Test func `If random digits are parsed as a time, the time is printed as the same digits`() {
        var random = SeededRandom()
        var read = 0
        for _ in 0..<5000 {
            let digits = (0..<17).map { _ in Int.random(in: 0...9, using: &random) }
            let number = { (range: Range<Int>) in digits[range].map(String.init).joined() }
            // The month and the hour are small numbers, because otherwise hardly any text would be a valid date.
            let month = Bool.random(using: &random) ? "0\(digits[5])" : number(4..<6)
            let hour = Bool.random(using: &random) ? "1\(digits[9])" : number(8..<10)
            let text =
                "\(number(0..<4))-\(month)-\(number(6..<8))T\(hour):\(number(10..<12)):\(number(12..<14))."
                + "\(number(14..<17))Z"
            guard let time = UTCTime(extended: text) else { continue }
            read += 1
            // A leap second is parsed as the beginning of the next minute.
            if number(12..<14) != "60" { #expect(time.extended == text) }
        }
        #expect(read > 0)
    }

    @Test func `A text with one wrong, missing or additional character is not parsed as a time`() {
        var random = SeededRandom()
        let text = Array("2026-11-21T14:03:10.123Z".utf8)
        for place in text.indices {
            for byte in [UInt8(ascii: " "), UInt8(ascii: "x"), UInt8(ascii: "/"), UInt8(ascii: "+"), 0, 0xC3] {
                var damaged = text
                damaged[place] = byte
                #expect(UTCTime(extended: String(decoding: damaged, as: UTF8.self)) == nil)
            }
            var shorter = text
            shorter.remove(at: place)
            #expect(UTCTime(extended: String(decoding: shorter, as: UTF8.self)) == nil)
            var longer = text
            longer.insert(UInt8.random(in: 48...57, using: &random), at: place)
            #expect(UTCTime(extended: String(decoding: longer, as: UTF8.self)) == nil)
        }
        #expect(UTCTime(basic: "20261121T140310.123") == nil && UTCTime(basic: "20261121 140310.123Z") == nil)
        #expect(UTCTime(basic: "2026-11-21T14:03:10.123Z") == nil && UTCTime(extended: "20261121T140310.123Z") == nil)
    }

    // Regression: the earliest time overflowed.
    @Test func `The earliest and the latest time can be printed, and times before 1970 have positive fractions`() {
        #expect(UTCTime(milliseconds: -1).extended == "1969-12-31T23:59:59.999Z")
        #expect(UTCTime(milliseconds: -1000).basic == "19691231T235959.000Z")
        for milliseconds in [Int64.min, Int64.min + 1, Int64.max] {
            let text = UTCTime(milliseconds: milliseconds).extended
            #expect(text.hasSuffix("Z") && !text.hasSuffix("-Z") && text.contains("."), "\(text)")
        }
    }

    @Test func `Integer division rounds down for negative numbers, too`() {
        for (number, quotient) in [(7, 2), (6, 2), (0, 0), (-1, -1), (-3, -1), (-4, -2)] as [(Int64, Int64)] {
            #expect(number.flooredDivision(by: 3) == quotient)
        }
        #expect(Int64.min.flooredDivision(by: 1000) == -9_223_372_036_854_776)
    }
}
