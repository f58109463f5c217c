// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Relay

@Suite("Markers per minute")
struct MarkLimitTests {
    @Test("A channel accepts a limited number of markers per minute, and more in the next minute")
    func markLimit() {
        var limit = MarkLimit()
        let admitted = (0..<100).count { limit.admit(at: .zero + .milliseconds(100) * $0) }
        #expect(admitted == MarkLimit.most)
        let later = ([59_999_999_999, 60_000_000_000, 120_000_000_000] as [MonotonicInstant]).map {
            limit.admit(at: $0)
        }
        #expect(later == [false, true, true])
    }
}
