// SPDX-License-Identifier: Apache-2.0

/// Computes how long to wait before an upload is tried again: 1 s, then half as long again after each failure, up to 5
/// min from the 16th failure on. The number of tries is not limited.
enum RetryDelay {
    private static let longest = Duration.seconds(300)

    /// Returns the wait after the given number of consecutive failures, counted from 1.
    static func after(_ failures: Int) -> Duration {
        var delay = Duration.seconds(1)
        for _ in 1..<max(1, failures) {
            delay = delay * 3 / 2
            if delay >= longest { return longest }
        }
        return delay
    }
}
