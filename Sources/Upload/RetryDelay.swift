// SPDX-License-Identifier: Apache-2.0

/// How long an upload waits before the next try: 1 s, and half as much again after each failure, up to 5 min, from the 16th
/// failure on. There is no last try.
enum RetryDelay {
    private static let longest = Duration.seconds(300)

    /// The wait after the `failures`-th failure in a row; 1 is the first.
    static func after(_ failures: Int) -> Duration {
        var delay = Duration.seconds(1)
        for _ in 1..<max(1, failures) {
            delay = delay * 3 / 2
            if delay >= longest { return longest }
        }
        return delay
    }
}
