// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import FanOut

@Suite("Keyframe requests of outputs that wait for a keyframe")
struct KeyframePatienceTests {
    @Test("An output that gets a regular keyframe within 2.5 s does not request one")
    func waits() {
        var patience = KeyframePatience()
        patience.wait(from: .seconds(10))
        patience.wait(from: .seconds(12))
        #expect(patience.isRequestDue(at: .seconds(12.499_999_999)) == false)
        patience.stopWaiting()
        #expect(patience.isRequestDue(at: .seconds(100)) == false)
        #expect(patience.requests == 0)
    }

    @Test("For a receiver without video a keyframe is requested at once, and then at most every 2.5 s")
    func urgent() {
        var patience = KeyframePatience()
        patience.wait(from: .seconds(10), isUrgent: true)
        #expect(patience.isRequestDue(at: .seconds(10)) == true)
        patience.stopWaiting()
        patience.wait(from: .seconds(11), isUrgent: true)
        #expect(patience.isRequestDue(at: .seconds(13)) == false)
        #expect(patience.isRequestDue(at: .seconds(13.5)) == true)
        patience.wait(from: .seconds(20))
        patience.wait(from: .seconds(300), isUrgent: true)
        #expect(patience.isRequestDue(at: .seconds(300)) == true)
        #expect(patience.requests == 3)
    }

    @Test("If no keyframe arrives, the request is repeated at intervals that double up to 40 s")
    func doubles() {
        var patience = KeyframePatience()
        patience.wait(from: 0)
        let due = (0...2400).map { MonotonicInstant.seconds(Double($0) / 10) }.filter { patience.isRequestDue(at: $0) }
        #expect(due.map { Double($0.nanoseconds) / 1e9 } == [2.5, 7.5, 17.5, 37.5, 77.5, 117.5, 157.5, 197.5, 237.5])
        #expect(patience.requests == due.count)
    }

    @Test("Each minute without a keyframe request halves the interval between later requests")
    func forgets() {
        var patience = KeyframePatience()
        patience.wait(from: 0)
        for tenth in 0...400 { _ = patience.isRequestDue(at: .seconds(Double(tenth) / 10)) }
        #expect(patience.requests == 4)
        patience.stopWaiting()
        // The last request was at 37.5 s; two minutes later two of the four doublings are left.
        patience.wait(from: .seconds(160))
        #expect(patience.isRequestDue(at: .seconds(169)) == false)
        #expect(patience.isRequestDue(at: .seconds(170)) == true)
    }

    @Test(
        "A receiver that keeps reconnecting causes about one extra IDR frame a minute at a GOP of 10 s")
    func flapping() {
        var patience = KeyframePatience()
        var lastKeyframe = MonotonicInstant.zero
        for tenth in 0..<36_000 {
            let now = MonotonicInstant.seconds(Double(tenth) / 10)
            if now - lastKeyframe >= .seconds(10) || patience.isRequestDue(at: now) {
                lastKeyframe = now
                patience.stopWaiting()
            }
            patience.wait(from: now)
        }
        #expect((50...70).contains(patience.requests), "\(patience.requests)")
    }
}
