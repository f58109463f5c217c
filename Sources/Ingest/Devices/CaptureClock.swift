// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// The clock of which a capture device's stamps are readings, taken when a frame or sample was captured: V4L2's are
/// monotonic (linux/videodev2.h, V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC), ALSA's are made by libavdevice of the wall clock and
/// what waits in the driver (libavdevice/alsa_dec.c).
enum CaptureClock: Sendable, Hashable {
    /// CLOCK_MONOTONIC, as our own.
    case monotonic
    /// CLOCK_REALTIME.
    case wall

    /// How far a stamp may be from now to be one of that clock.
    private static let near: Int64 = 30_000_000_000

    /// The clock of which `stamp` is a reading just past; nil if it is of neither. The clocks' own readings are in
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

    /// What is added to a stamp, in nanoseconds, to make a reading of CLOCK_MONOTONIC of it. Asked for each packet,
    /// because the wall clock may be set.
    func shift(monotonic: Int64 = SystemClock().now, wall: Int64 = Self.wallTime) -> Int64 {
        self == .monotonic ? 0 : monotonic &- wall
    }

    /// CLOCK_REALTIME, in nanoseconds.
    static var wallTime: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
