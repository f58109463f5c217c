// SPDX-License-Identifier: Apache-2.0

internal import CLinux

/// Whether a time server keeps the system's clock: what NTP, chrony or systemd-timesyncd tells the kernel (adjtimex(2)).
package enum ConfirmedClock {
    /// A wall clock that differs by more milliseconds from the kernel's is another one.
    private static let tolerance: Int64 = 5000

    /// Whether the kernel says that `wall`, read just now, is right. Any thread.
    package static func confirms(_ wall: UTCTime) -> Bool {
        var kernel: Int64 = 0
        return relay_clock_is_synchronised(&kernel) != 0 && abs(kernel - wall.milliseconds) <= tolerance
    }
}
