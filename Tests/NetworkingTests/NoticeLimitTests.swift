// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Networking

@Suite struct NoticeLimitTests {
    @Test("Twenty messages of a server are logged per minute, then one line reports that others are omitted")
    func notices() {
        var limit = NoticeLimit()
        let verdicts = (0..<40).map { limit.admit(at: 5 + .nanoseconds($0)) }
        #expect(verdicts.prefix(20).allSatisfy { $0 == .passed })
        #expect(verdicts[20] == .last)
        #expect(verdicts.dropFirst(21).allSatisfy { $0 == .leftOut })
        #expect(limit.admit(at: 60_000_000_004) == .leftOut)
        #expect(limit.admit(at: 60_000_000_005) == .passed)
    }
}
