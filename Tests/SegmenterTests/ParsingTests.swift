// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Segmenter

@Suite struct ParsingTests {
    @Test(
        arguments: [
            ("0", 0), ("4096", 4096), ("1B", 1), ("2GB", 2_000_000_000), ("2GiB", 2 << 30), ("500 MB", 500_000_000),
            ("1.5gb", 1_500_000_000), ("0.000000001GB", 1), ("9223372036854775807", Int64.max), ("8kib", 8192),
        ] as [(String, Int64)]) func `A size in bytes is parsed exactly`(text: String, bytes: Int64) throws
    {
        #expect(try ByteSize(parsing: text).bytes == bytes)
    }

    @Test(arguments: [
        "", "GB", "-1", "1e9", "2XB", "1..5GB", "99999999999GB", "9223372036854775808", ".5GB", "1.", "٣GB",
    ]) func `An invalid size in bytes is refused with an example`(text: String) {
        #expect { try ByteSize(parsing: text) } throws: { "\($0)".contains("write for example") }
    }

    @Test(
        arguments: [
            ("10s", 10_000), ("30m", 1_800_000), ("1h", 3_600_000), ("1h30m", 5_400_000), ("500ms", 500),
            ("1.5h", 5_400_000),
            ("90", 90_000), ("2d", 172_800_000), ("1h 1m 1s 1ms", 3_661_001),
        ] as [(String, Int64)]) func `A duration is parsed exactly`(text: String, milliseconds: Int64) throws
    {
        #expect(try DurationText(parsing: text).duration == .milliseconds(milliseconds))
    }

    @Test(arguments: ["", "s", "10x", "-5s", "1m1h", "1s1s", "1h-3m", "99999999999999999d", "abc", "1h30"])
    func `An invalid duration is refused with an example`(text: String) {
        #expect { try DurationText(parsing: text) } throws: { "\($0)".contains("write for example") }
    }

    @Test func `The length of a file is a duration of at least a second or a size of at least a megabyte`() throws {
        #expect(try SegmentLength(parsing: "10s") == .duration(.seconds(10)))
        #expect(try SegmentLength(parsing: "1h30m") == .duration(.seconds(5400)))
        #expect(try SegmentLength(parsing: "2GB") == .bytes(2_000_000_000))
        #expect(try SegmentLength(parsing: "2GiB") == .bytes(2 << 30))
        #expect { try SegmentLength(parsing: "500ms") } throws: { "\($0)".contains("1s is the least") }
        #expect { try SegmentLength(parsing: "1kB") } throws: { "\($0)".contains("1MB is the least") }
        #expect { try SegmentLength(parsing: "soon") } throws: { "\($0)".contains("not a segment length") }
    }

    @Test func `Sizes and durations are printed in readable units`() {
        #expect(ByteSize(bytes: 3_672_000_000).description == "3.6 GB")
        #expect(ByteSize(bytes: 999).description == "999 B")
        #expect(DurationText(.seconds(5400)).description == "1h30m")
        #expect(DurationText(.zero).description == "0s")
    }
}
