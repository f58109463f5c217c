// SPDX-License-Identifier: Apache-2.0

internal import CLinux

/// Whether a time server disciplines the system's clock, as NTP, chrony or systemd-timesyncd report it to the kernel
/// (adjtimex(2)).
package enum ConfirmedClock {
    /// If a wall clock differs from the kernel's clock by more than this, in milliseconds, the kernel's report does not
    /// apply to it.
    private static let tolerance: Int64 = 5000

    /// Whether the kernel confirms that `wall`, read just now, is right. Any thread may call it.
    package static func confirms(_ wall: UTCTime) -> Bool {
        var kernel: Int64 = 0
        return relay_clock_is_synchronised(&kernel) != 0 && abs(kernel - wall.milliseconds) <= tolerance
    }
}
