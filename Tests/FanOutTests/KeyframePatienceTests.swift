// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import FanOut

@Suite("Keyframe requests of outputs that wait for a keyframe")
struct KeyframePatienceTests {
    private let second: Int64 = 1_000_000_000

    @Test("An output that gets a regular keyframe within 2.5 s does not request one")
    func waits() {
        var patience = KeyframePatience()
        patience.wait(from: 10 * second)
        patience.wait(from: 12 * second)
        #expect(patience.isRequestDue(at: 12 * second + 499_999_999) == false)
        patience.stopWaiting()
        #expect(patience.isRequestDue(at: 100 * second) == false)
        #expect(patience.requests == 0)
    }

    @Test("For a receiver without video a keyframe is requested at once, and then at most every 2.5 s")
    func urgent() {
        var patience = KeyframePatience()
        patience.wait(from: 10 * second, isUrgent: true)
        #expect(patience.isRequestDue(at: 10 * second) == true)
        patience.stopWaiting()
        patience.wait(from: 11 * second, isUrgent: true)
        #expect(patience.isRequestDue(at: 13 * second) == false)
        #expect(patience.isRequestDue(at: 13 * second + second / 2) == true)
        patience.wait(from: 20 * second)
        patience.wait(from: 300 * second, isUrgent: true)
        #expect(patience.isRequestDue(at: 300 * second) == true)
        #expect(patience.requests == 3)
    }

    @Test("If no keyframe arrives, the request is repeated at intervals that double up to 40 s")
    func doubles() {
        var patience = KeyframePatience()
        patience.wait(from: 0)
        let due = (0...2400).map { Int64($0) * second / 10 }.filter { patience.isRequestDue(at: $0) }
        #expect(due.map { Double($0) / 1e9 } == [2.5, 7.5, 17.5, 37.5, 77.5, 117.5, 157.5, 197.5, 237.5])
        #expect(patience.requests == due.count)
    }

    @Test("Each minute without a keyframe request halves the interval between later requests")
    func forgets() {
        var patience = KeyframePatience()
        patience.wait(from: 0)
        for tenth in 0...400 { _ = patience.isRequestDue(at: Int64(tenth) * second / 10) }
        #expect(patience.requests == 4)
        patience.stopWaiting()
        // The last request was at 37.5 s; two minutes later two of the four doublings are left.
        patience.wait(from: 160 * second)
        #expect(patience.isRequestDue(at: 169 * second) == false)
        #expect(patience.isRequestDue(at: 170 * second) == true)
    }

    @Test(
        "A receiver that keeps reconnecting causes about one extra IDR frame a minute at a GOP of 10 s")
    func flapping() {
        var patience = KeyframePatience()
        var lastKeyframe: Int64 = 0
        for tenth in Int64(0)..<36_000 {
            let now = tenth * second / 10
            if now - lastKeyframe >= 10 * second || patience.isRequestDue(at: now) {
                lastKeyframe = now
                patience.stopWaiting()
            }
            patience.wait(from: now)
        }
        #expect((50...70).contains(patience.requests), "\(patience.requests)")
    }
}
