// SPDX-License-Identifier: Apache-2.0

internal import Media

/// When an input that ended or failed is opened again, and which of the failures are worth a line in the log.
struct ReopenSchedule: Hashable {
    /// The pause after the first failure; each following one is twice as long.
    static let shortestDelay = Duration.seconds(1)
    /// The longest pause.
    static let longestDelay = Duration.seconds(5)
    /// An input that ran so long was all right, and its next failure is a first one.
    static let stableTime = Duration.seconds(10)

    /// Failures since the input was last all right.
    private(set) var failures = 0

    /// Notes that the input ended or failed after it ran for `time`, zero if it did not open. Returns the pause.
    mutating func fail(after time: Duration) -> Duration {
        if time >= Self.stableTime { failures = 0 }
        failures += 1
        return min(Self.shortestDelay * (1 << min(failures - 1, 8)), Self.longestDelay)
    }

    /// Whether the last failure is to be logged: the first, second, fourth, eighth, and so on.
    var isWorthLogging: Bool { failures & (failures - 1) == 0 }
}
