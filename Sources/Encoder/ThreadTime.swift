// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// CPU time, in seconds.
enum ThreadTime {
    /// The CPU time of the calling thread.
    static var current: Double { read(CLOCK_THREAD_CPUTIME_ID) }
    /// The CPU time of the whole process.
    static var process: Double { read(CLOCK_PROCESS_CPUTIME_ID) }

    /// Reads `clock`; 0 if the clock no longer exists because its thread ended.
    static func read(_ clock: clockid_t) -> Double {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { return 0 }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
