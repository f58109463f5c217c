// SPDX-License-Identifier: Apache-2.0

import Fleet
import Media
import TestSupport
import Testing

@Suite("Sending window")
struct SendingWindowTests {
    @Test func `A window is closed at first, open until its end, and not open at its end`() {
        let clock = ManualClock()
        let window = SendingWindow(clock: clock)
        #expect(!window.isOpen && window.timeLeft == .zero)
        window.open(until: 100)
        #expect(window.isOpen && window.timeLeft == .nanoseconds(100))
        clock.sleep(until: 99)
        #expect(window.isOpen && window.timeLeft == .nanoseconds(1))
        clock.sleep(until: 100)
        #expect(!window.isOpen && window.timeLeft == .zero)
        window.open(until: 200)
        #expect(window.isOpen)
        window.close()
        #expect(!window.isOpen && window.timeLeft == .zero)
    }

    @Test func `The default clock runs, and is never behind the clock that stops during a suspension`() {
        let (first, other) = (SuspensionClock().now, SystemClock().now)
        #expect(first > 0 && SuspensionClock().now >= first)
        #expect(SuspensionClock().now >= other)
        let window = SendingWindow()
        window.open(until: SuspensionClock().now + .seconds(3600))
        #expect(window.isOpen)
    }
}
