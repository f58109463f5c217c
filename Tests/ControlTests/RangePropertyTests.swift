// SPDX-License-Identifier: Apache-2.0

import Archive
import Media
import TestSupport
import Testing

@testable import Control

@Suite("Random byte ranges and times")
struct RangePropertyTests {
    /// Returns the first and last byte that the header requests, if it has a single range by the grammar of RFC 9110,
    /// 14.1.2; nil for any other text.
    private func asked(_ text: String) -> (first: Int64?, last: Int64?)? {
        guard let match = text.wholeMatch(of: /[Bb][Yy][Tt][Ee][Ss]=[ \t]*([0-9]*)[ \t]*-[ \t]*([0-9]*)[ \t]*/) else {
            return nil
        }
        let (first, last) = (match.output.1, match.output.2)
        if first.isEmpty && last.isEmpty { return nil }
        return (
            first.isEmpty ? nil : Int64(first) ?? .max, last.isEmpty ? nil : Int64(last) ?? .max
        )
    }

    @Test("Any Range header selects bytes of the file, is unsatisfiable, or is ignored")
    func ranges() {
        var random = SeededRandom()
        let pieces = [
            "bytes", "=", "=", "-", "-", "0", "9", "12", "99", "100", "101", " ", "\t", ",", "bytes=", "Bytes=", "x",
            "+",
            "18446744073709551616", "9223372036854775807", "é", "\u{661}",
        ]
        let sizes: [Int64] = [0, 1, 12, 100, 101, .max]
        var parts = 0
        for _ in 0..<20_000 {
            let text = (Bool.random(using: &random) ? "bytes=" : "") + random.text(of: pieces, upTo: 5)
            let size = random.pick(sizes)
            let range = ByteRange(text, size: size)
            switch asked(text) {
            case nil: #expect(range == .whole, "\(text)")
            case (let first?, let last?)? where first > last: #expect(range == .whole, "\(text)")
            case (let first?, let last)?:
                let isThere = first < size
                #expect(isThere ? range == .part(first..<min(last ?? .max, size - 1) + 1) : range == .unsatisfiable)
            case (nil, let count?)?:
                let isThere = count > 0 && size > 0
                #expect(isThere ? range == .part(max(0, size - count)..<size) : range == .unsatisfiable)
            case (nil, nil)?: Issue.record("\(text)")
            }
            if case .part(let part) = range {
                parts += 1
                #expect(!part.isEmpty && part.lowerBound >= 0 && part.upperBound <= size, "\(text) of \(size)")
            }
        }
        #expect(parts > 10)
    }

    @Test("A time in a request is parsed to the millisecond, with any allowed number of fractional digits")
    func moments() throws {
        var random = SeededRandom()
        for _ in 0..<1000 {
            let time = UTCTime(milliseconds: .random(in: 0..<253_402_300_800_000, using: &random))
            let text = time.extended
            #expect(try ClockTime.milliseconds(text, "from") == time.milliseconds)
            let more = random.text(of: ["0", "5", "9"], upTo: 6)
            #expect(try ClockTime.milliseconds("\(text.dropLast())\(more)Z", "from") == time.milliseconds)
            let seconds = text.dropLast(5)
            #expect(try ClockTime.milliseconds("\(seconds)Z", "from") == time.milliseconds / 1000 * 1000)
        }
    }

    @Test(
        "If a time in a request is malformed or not in UTC, the error names the parameter",
        arguments: [
            "2026-02-30T00:00:00Z", "2026-11-21T14:03:10.0000000000Z", "2026-11-21T14:03:10.25.1Z",
            "2026-11-21T14:03:10,250Z", "2026-11-21T14:03:10.-50Z", "2026-11-21T14:03:10+01:00",
            "2026-11-21T14:03:10.2xZ",
            "2026-11-21t14:03:10Z", "2026-11-21T14:03:10z", "Z", ".Z", " 2026-11-21T14:03:10Z", "1795269790", "\u{0}",
            "2026-11-21T14:03:10.\u{661}Z",
        ])
    func refused(text: String) {
        let refusal = #expect(throws: Refusal.self) { try ClockTime.milliseconds(text, "from") }
        #expect(refusal?.kind == .malformed && refusal?.detail.hasPrefix("from is a time in UTC") == true)
    }

    @Test("A cached value is computed once per lifetime, for any number of threads")
    func cached() async {
        let made = Counter()
        let lasting = Cached(for: .seconds(3600)) { made.next() }
        let values = await withTaskGroup(of: Int.self) { group -> [Int] in
            for _ in 0..<50 { group.addTask { lasting.value } }
            var values: [Int] = []
            for await value in group { values.append(value) }
            return values
        }
        #expect(Set(values) == [1])
        let never = Cached(for: .zero) { made.next() }
        let (second, third) = (never.value, never.value)
        #expect(second == 2 && third == 3)
    }
}
