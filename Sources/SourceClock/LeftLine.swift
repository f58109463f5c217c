// SPDX-License-Identifier: Apache-2.0

/// The line that a track's timestamps left at a leap: the shift that the timestamps had before the leap, and the time
/// at which the track would have continued. One wrong timestamp, or a few that agree with each other, look like a jump
/// at first. If the next timestamps return to the line, there was no jump, and the track gets its former shift back.
/// All times are nanoseconds.
package struct LeftLine: Sendable, Hashable {
    /// The number of packets after the leap that may still return to the line, less one.
    private static let mostWrong = 4
    /// The maximum distance of a packet from the line: with known durations, and with unknown ones.
    private static let (near, nearUnknown): (Int64, Int64) = (100_000_000, 250_000_000)

    /// The shift of the track's timestamps before the leap.
    package let shift: Int64
    /// The duration of the track's packets before the leap; 0 if unknown.
    private let duration: Int64
    /// The time that the next packet has if it is on the line.
    private var expected: Int64
    /// How many packets have come since the leap.
    private var packets = 0

    /// Creates the line of a track with the shift `shift`, whose packets have had the duration `duration`; 0 if
    /// unknown. On the line, the packet that leapt would be at `expected`.
    package init(shift: Int64, expected: Int64, duration: Int64) {
        (self.shift, self.duration, self.expected) = (shift, duration, expected &+ duration)
    }

    /// Whether a packet is on this line; the packet's time without a shift is `raw`. `leap` is its distance from the
    /// time that is expected with the track's present shift.
    package func fits(_ raw: Int64, leap: Int64) -> Bool {
        let limit = UInt64(duration > 0 ? Self.near : Self.nearUnknown)
        return (raw &+ shift &- expected).magnitude < min(limit, leap.magnitude)
    }

    /// The line after one more packet that is not on it; nil if there were too many such packets for wrong timestamps.
    package var passed: LeftLine? {
        guard packets < Self.mostWrong else { return nil }
        var line = self
        line.expected &+= duration
        line.packets += 1
        return line
    }
}
