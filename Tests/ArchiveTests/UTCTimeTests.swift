// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Archive

@Suite struct UTCTimeTests {
    @Test func `Wall-clock times are read as they were written`() {
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
}
