// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A clock that never jumps, because it cannot be set.
package protocol MonotonicClock: Sendable {
    /// The current time of this clock.
    var now: MonotonicInstant { get }
    /// Waits until `deadline` on this clock, or returns at once if it has passed. Blocks the thread.
    func sleep(until deadline: MonotonicInstant)
}

/// The system's `CLOCK_MONOTONIC`.
package struct SystemClock: MonotonicClock {
    /// The system's clock.
    package init() {}

    package var now: MonotonicInstant { time(of: CLOCK_MONOTONIC) }

    package func sleep(until deadline: MonotonicInstant) { wait(until: deadline, on: CLOCK_MONOTONIC) }
}

/// The system's `CLOCK_BOOTTIME`: a monotonic clock that also counts the time in which the machine was suspended.
///
/// A lease ends during a suspension, too. `CLOCK_MONOTONIC` does not count that time, so a host that measures by it would
/// still send after it wakes. Both clocks stop while a hypervisor pauses the whole virtual machine.
package struct SuspensionClock: MonotonicClock {
    /// The system's clock.
    package init() {}

    package var now: MonotonicInstant { time(of: CLOCK_BOOTTIME) }

    package func sleep(until deadline: MonotonicInstant) { wait(until: deadline, on: CLOCK_BOOTTIME) }
}

/// The time of a clock of the system.
private func time(of clock: clockid_t) -> MonotonicInstant {
    var time = timespec()
    clock_gettime(clock, &time)
    return MonotonicInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
}

/// Waits until `deadline` on a clock of the system.
private func wait(until deadline: MonotonicInstant, on clock: clockid_t) {
    let nanoseconds = deadline.nanoseconds
    var time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    while clock_nanosleep(clock, CInt(TIMER_ABSTIME), &time, nil) == EINTR {}
}
