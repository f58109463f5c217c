// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Relay

@Suite("Signals that end relay")
struct EndRequestsTests {
    @Test("A second signal to end relay within 500 ms of the first is ignored")
    func together() {
        var requests = EndRequests()
        #expect(requests.received(at: 7) == .end)
        #expect(requests.received(at: 7) == .ignore)
        #expect(requests.received(at: 7 + .milliseconds(499)) == .ignore)
    }

    @Test("A second signal 500 ms after the first ends relay at once, even if a signal in between was ignored")
    func impatience() {
        for between in [[], [MonotonicInstant(nanoseconds: 1000)]] {
            var requests = EndRequests()
            #expect(requests.received(at: 0) == .end)
            for time in between { #expect(requests.received(at: time) == .ignore) }
            #expect(requests.received(at: .zero + .milliseconds(500)) == .endAtOnce)
        }
    }
}
