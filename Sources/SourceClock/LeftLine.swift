// SPDX-License-Identifier: Apache-2.0

package import Media

/// The line that a track's timestamps left at a leap: the shift that the timestamps had before the leap, and the time
/// at which the track would have continued. One wrong timestamp, or a few that agree with each other, look like a jump
/// at first. If the next timestamps return to the line, there was no jump, and the track gets its former shift back.
package struct LeftLine: Sendable, Hashable {
    /// The number of packets after the leap that may still return to the line, less one.
    private static let mostWrong = 4
    /// The maximum distance of a packet from the line: with known durations, and with unknown ones.
    private static let (near, nearUnknown) = (Duration.milliseconds(100), Duration.milliseconds(250))

    /// The shift of the track's timestamps before the leap.
    package let shift: Duration
    /// The duration of the track's packets before the leap; 0 if unknown.
    private let duration: Duration
    /// The time that the next packet has if it is on the line.
    private var expected: Timestamp
    /// How many packets have come since the leap.
    private var packets = 0

    /// Creates the line of a track with the shift `shift`, whose packets have had the duration `duration`; 0 if
    /// unknown. On the line, the packet that leapt would be at `expected`.
    package init(shift: Duration, expected: Timestamp, duration: Duration) {
        (self.shift, self.duration, self.expected) = (shift, duration, expected + duration)
    }

    /// Whether a packet is on this line; the packet's time without a shift is `raw`. `leap` is its distance from the
    /// time that is expected with the track's present shift.
    package func fits(_ raw: Timestamp, leap: Duration) -> Bool {
        let limit = duration > .zero ? Self.near : Self.nearUnknown
        return (raw + shift - expected).magnitude < min(limit, leap.magnitude)
    }

    /// The line after one more packet that is not on it; nil if there were too many such packets for wrong timestamps.
    package var passed: LeftLine? {
        guard packets < Self.mostWrong else { return nil }
        var line = self
        line.expected += duration
        line.packets += 1
        return line
    }
}

extension Duration {
    /// The length without its sign.
    package var magnitude: Duration { self < .zero ? .zero - self : self }

    /// The length in milliseconds, for display.
    var milliseconds: Double { Double(inNanoseconds) / 1e6 }
}
