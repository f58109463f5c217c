// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// The clock that a capture device's stamps are readings of, taken when a frame or sample was captured: V4L2's stamps
/// are monotonic (linux/videodev2.h, V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC); for ALSA, libavdevice computes them from the
/// wall clock and the samples that are buffered in the driver (libavdevice/alsa_dec.c).
enum CaptureClock: Sendable, Hashable {
    /// CLOCK_MONOTONIC, which is also relay's own clock.
    case monotonic
    /// CLOCK_REALTIME.
    case wall

    /// How far a stamp may differ from a clock's present reading to count as a reading of that clock.
    private static let near: Int64 = 30_000_000_000

    /// The clock that `stamp` is a recent reading of; nil if it fits neither clock. The clocks' present readings are in
    /// nanoseconds.
    init?(stamp: Duration, monotonic: Int64 = SystemClock().now, wall: Int64 = Self.wallTime) {
        let time = stamp.inNanoseconds
        if (monotonic &- time).magnitude < Self.near {
            self = .monotonic
        } else if (wall &- time).magnitude < Self.near {
            self = .wall
        } else {
            return nil
        }
    }

    /// The offset that converts a stamp to a reading of CLOCK_MONOTONIC, in nanoseconds. Computed for each
    /// packet, because the wall clock may be set.
    func shift(monotonic: Int64 = SystemClock().now, wall: Int64 = Self.wallTime) -> Int64 {
        self == .monotonic ? 0 : monotonic &- wall
    }

    /// The reading of CLOCK_REALTIME, in nanoseconds.
    static var wallTime: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
