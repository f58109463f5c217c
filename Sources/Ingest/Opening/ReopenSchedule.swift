// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides when an input that ended or failed is opened again, and which of the failures are logged.
struct ReopenSchedule: Hashable {
    /// The pause after the first failure; it doubles with each further failure.
    static let shortestDelay = Duration.seconds(1)
    /// The longest pause.
    static let longestDelay = Duration.seconds(5)
    /// An input that ran for this long has recovered: its next failure counts as the first.
    static let stableTime = Duration.seconds(10)

    /// Failures since the input last recovered.
    private(set) var failures = 0

    /// Records that the input ended or failed after it ran for `time`, which is zero if opening failed. Returns the
    /// pause.
    mutating func fail(after time: Duration) -> Duration {
        if time >= Self.stableTime { failures = 0 }
        failures += 1
        return min(Self.shortestDelay * (1 << min(failures - 1, 8)), Self.longestDelay)
    }

    /// Whether the last failure should be logged: the first, second, fourth, eighth, and so on.
    var isWorthLogging: Bool { failures & (failures - 1) == 0 }
}
