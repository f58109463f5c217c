// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Relay

@Suite("Ranges of time on the command line")
struct ExportRangeTests {
    /// 2026-11-21T14:03:10Z in milliseconds since 1970.
    private static let start: Int64 = 1_795_269_790_000

    @Test(
        "A time has up to nine digits of a second, of which milliseconds count, and may lack its Z",
        arguments: [
            ("2026-11-21T14:03:10Z", 0), ("2026-11-21T14:03:10", 0), ("2026-11-21T14:03:10.2Z", 200),
            ("2026-11-21T14:03:10.25", 250), ("2026-11-21T14:03:10.250Z", 250),
            ("2026-11-21T14:03:10.250999999Z", 250),
        ] as [(String, Int64)])
    func moments(text: String, milliseconds: Int64) throws {
        let range = try ExportRange(from: text, to: "2026-11-21T14:04:10Z").milliseconds
        #expect(range == Self.start + milliseconds..<Self.start + 60_000)
    }

    @Test(
        "The end of a range may be a length after its start",
        arguments: [
            ("+30s", 30_000), ("+90", 90_000), ("+2.5", 2500), ("+14:27", 867_000), ("+1:02:03.5", 3_723_500),
        ] as [(String, Int64)])
    func lengths(text: String, milliseconds: Int64) throws {
        let range = try ExportRange(from: "2026-11-21T14:03:10Z", to: text).milliseconds
        #expect(range == Self.start..<Self.start + milliseconds)
    }

    @Test(
        "A range with an end that is not after its start, or that is neither a time nor a length, is refused",
        arguments: [
            "2026-11-21T14:03:10Z", "2026-11-21T14:03:09Z", "+0", "2026-11-21", "2026-11-21T14:03:11.Z",
            "2026-11-21T14:03:11.1234567890Z", "2026-11-21T14:03:11.1 Z", "14:04", "+1:75", "+1:2:3:4", "+x",
        ])
    func refused(end: String) {
        #expect(throws: (any Error).self) { try ExportRange(from: "2026-11-21T14:03:10Z", to: end) }
    }

    @Test("Ranges of an export need as many starts as ends")
    func pairs() throws {
        let (one, two) = ("2026-11-21T14:03:10Z", "2026-11-21T14:03:20Z")
        #expect(try ExportRange.ranges(from: [one, two], to: ["+1s", "+2s"]).map(\.count) == [1000, 2000])
        #expect(try ExportRange.optional(from: nil, to: nil) == nil)
        #expect(throws: (any Error).self) { try ExportRange.optional(from: one, to: nil) }
        #expect(throws: (any Error).self) { try ExportRange.ranges(from: [one], to: [two, two]) }
    }
}
