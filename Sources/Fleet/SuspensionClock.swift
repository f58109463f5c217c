// SPDX-License-Identifier: Apache-2.0

internal import Media

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The system's `CLOCK_BOOTTIME`: a monotonic clock that also counts the time in which the machine was suspended.
///
/// A lease ends during a suspension, too. `CLOCK_MONOTONIC` does not count that time, so a host that measures by it would
/// still send after it wakes. Both clocks stop while a hypervisor pauses the whole virtual machine.
package struct SuspensionClock: MonotonicClock {
    /// The system's clock.
    package init() {}

    package var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    package func sleep(until deadline: Int64) {
        var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        while clock_nanosleep(CLOCK_BOOTTIME, CInt(TIMER_ABSTIME), &time, nil) == EINTR {}
    }
}
