// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// The clock that gives a capture device's timestamps; each timestamp is the time at which a frame or sample was
/// captured. V4L2's timestamps are monotonic (linux/videodev2.h, V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC). For ALSA,
/// libavdevice computes the timestamps from the wall clock and the samples that are buffered in the driver
/// (libavdevice/alsa_dec.c).
enum CaptureClock: Sendable, Hashable {
    /// CLOCK_MONOTONIC, which is also relay's own clock.
    case monotonic
    /// CLOCK_REALTIME.
    case wall

    /// A timestamp is assumed to come from a clock if it differs from that clock's present time by less than this, in
    /// nanoseconds.
    private static let near: Int64 = 30_000_000_000

    /// Creates the clock whose present time is close to `stamp`; nil if `stamp` is close to neither clock's present
    /// time. `monotonic` and `wall` are the present times, in nanoseconds.
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

    /// The offset that converts a timestamp to a time of CLOCK_MONOTONIC, in nanoseconds. It is computed for each
    /// packet, because the wall clock can be set at any time.
    func shift(monotonic: Int64 = SystemClock().now, wall: Int64 = Self.wallTime) -> Int64 {
        self == .monotonic ? 0 : monotonic &- wall
    }

    /// The time of CLOCK_REALTIME, in nanoseconds.
    static var wallTime: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
