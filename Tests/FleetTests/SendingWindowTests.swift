// SPDX-License-Identifier: Apache-2.0

import Fleet
import Media
import Synchronization
import Testing

@Suite("Sending window")
struct SendingWindowTests {
    /// A clock that a test sets.
    private final class SetClock: MonotonicClock {
        let time = Atomic<Int64>(0)
        var now: Int64 { time.load(ordering: .relaxed) }
        func sleep(until deadline: Int64) { time.store(deadline, ordering: .relaxed) }
    }

    @Test func `A window is closed at first, open until its end, and not open at its end`() {
        let clock = SetClock()
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

    @Test func `The default clock counts, and is not behind the clock that stops in a suspension`() {
        let (first, other) = (SuspensionClock().now, SystemClock().now)
        #expect(first > 0 && SuspensionClock().now >= first)
        #expect(SuspensionClock().now >= other)
        let window = SendingWindow()
        window.open(until: SuspensionClock().now + 3_600_000_000_000)
        #expect(window.isOpen)
    }
}
