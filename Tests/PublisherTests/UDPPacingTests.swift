// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Publisher

@Suite struct UDPPacingTests {
    @Test(
        "The UDP datagrams of a frame are spread over the frame's duration, and no datagram is late",
        arguments: [1, 5, 19, 114, 1000])
    func spreads(count: Int) {
        var pacing = UDPPacing()
        let start: MonotonicInstant = 7_000_000_000
        pacing.begin(count: count, at: start, frame: 33_333_333)
        var (now, sent, largest) = (start, 0, 0)
        while sent < count, now < start + .nanoseconds(33_333_333) {
            let due = pacing.due(at: now)
            pacing.note(sent: due)
            sent += due
            largest = max(largest, due)
            now += .nanoseconds(pacing.tick)
        }
        #expect(sent == count)
        #expect(largest <= count / 7 + 1)
    }

    @Test("At a high frame rate the UDP pacing timer fires at most 500 times per second")
    func tick() {
        var pacing = UDPPacing()
        pacing.begin(count: 1, at: 0, frame: 8_333_333)
        #expect(pacing.tick == 2_000_000)
        pacing.begin(count: 1, at: 0, frame: 40_000_000)
        #expect(pacing.tick == 4_500_000)
    }

    @Test("After a stall all UDP datagrams of a frame are due at once")
    func stall() {
        var pacing = UDPPacing()
        pacing.begin(count: 50, at: 0, frame: 40_000_000)
        pacing.note(sent: pacing.due(at: 0))
        #expect(pacing.due(at: 5_000_000_000) + 7 == 50)
    }
}
