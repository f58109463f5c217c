// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A clock that never jumps, because it cannot be set. It counts nanoseconds since an arbitrary moment.
package protocol MonotonicClock: Sendable {
    /// The current time of this clock, in nanoseconds.
    var now: Int64 { get }
    /// Waits until `deadline` on this clock, or returns at once if it has passed. Blocks the thread.
    func sleep(until deadline: Int64)
}

/// The system's `CLOCK_MONOTONIC`.
package struct SystemClock: MonotonicClock {
    /// The system's clock.
    package init() {}

    package var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    package func sleep(until deadline: Int64) {
        var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, CInt(TIMER_ABSTIME), &time, nil) == EINTR {}
    }
}
