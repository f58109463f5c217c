// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Control

/// RFC 9110, 14.1.2 and 14.2.
@Suite("Byte ranges of HTTP requests")
struct ByteRangeTests {
    @Test(
        "A single byte range, counted from the start or from the end, is limited to the file's size",
        arguments: [
            ("bytes=0-99", ByteRange.part(0..<100)), ("bytes=0-0", .part(0..<1)), ("bytes=5-", .part(5..<1000)),
            ("bytes=-5", .part(995..<1000)), ("bytes=-5000", .part(0..<1000)), ("bytes=999-", .part(999..<1000)),
            ("bytes=990-99999999999999999999999", .part(990..<1000)), ("BYTES=1-2", .part(1..<3)),
            ("bytes= 1-2 ", .part(1..<3)),
        ])
    func single(text: String, range: ByteRange) {
        #expect(ByteRange(text, size: 1000) == range)
    }

    @Test(
        "A byte range that is outside of the file is unsatisfiable",
        arguments: ["bytes=1000-", "bytes=1000-2000", "bytes=-0", "bytes=99999999999999999999999-"])
    func beyond(text: String) {
        #expect(ByteRange(text, size: 1000) == .unsatisfiable)
    }

    @Test(
        "A Range header that is malformed, has another unit or several ranges is ignored",
        arguments: [
            "bytes=abc", "bytes=5-2", "bytes=-", "bytes=", "bytes", "items=0-1", "bytes=0-1,5-6", "bytes=--5",
            "bytes=1-2-3", "bytes=+1-2", "bytes=0x1-2", "",
        ])
    func ignored(text: String) {
        #expect(ByteRange(text, size: 1000) == .whole)
    }

    @Test("If a Range header has as many ranges as fit into a request, the complete file is sent once")
    func manyRanges() {
        let text = "bytes=" + (0..<3000).map { "\($0)-" }.joined(separator: ",")
        #expect(ByteRange(text, size: 1 << 40) == .whole)
    }

    @Test("A byte range of an empty file is unsatisfiable; without a Range header the empty file is sent")
    func empty() {
        #expect(ByteRange("bytes=0-", size: 0) == .unsatisfiable)
        #expect(ByteRange("bytes=-1", size: 0) == .unsatisfiable)
        #expect(ByteRange(nil, size: 0) == .whole)
    }
}

@Suite("Times in requests")
struct ClockTimeTests {
    @Test("A time in UTC is parsed with or without a fraction of a second")
    func reads() throws {
        let plain = try ClockTime.milliseconds("2026-11-21T14:03:10Z", "from")
        #expect(try ClockTime.milliseconds("2026-11-21T14:03:10.250Z", "from") == plain + 250)
        #expect(try ClockTime.milliseconds("2026-11-21T14:03:10.2Z", "from") == plain + 200)
        #expect(try ClockTime.milliseconds("2026-11-21T14:03:10.250999999Z", "from") == plain + 250)
    }

    @Test(
        "A time in a request that is incomplete or not in UTC is refused",
        arguments: ["", "now", "2026-11-21", "2026-11-21T14:03:10", "2026-11-21T14:03:10.Z"])
    func refuses(text: String) {
        #expect(throws: Refusal.self) { try ClockTime.milliseconds(text, "from") }
    }
}
