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

    /// A moment of CLOCK_REALTIME, whose zero is the beginning of 1970.
    typealias WallInstant = Instant<WallLine>

    /// The line of CLOCK_REALTIME.
    enum WallLine {}

    /// A timestamp is assumed to come from a clock if it differs from that clock's present time by less than this.
    private static let near = Duration.seconds(30)

    /// Creates the clock whose present time is close to `stamp`; nil if `stamp` is close to neither clock's present
    /// time. `monotonic` and `wall` are the present times.
    init?(stamp: Timestamp, monotonic: MonotonicInstant = SystemClock().now, wall: WallInstant = Self.wallTime) {
        if Self.isNear(stamp, monotonic) {
            self = .monotonic
        } else if Self.isNear(stamp, wall) {
            self = .wall
        } else {
            return nil
        }
    }

    private static func isNear<Line>(_ stamp: Timestamp, _ now: Instant<Line>) -> Bool {
        let stated = Instant<Line>(nanoseconds: stamp.nanoseconds)
        return max(stated, now) - min(stated, now) < near
    }

    /// The offset that converts a timestamp to a time of CLOCK_MONOTONIC. It is computed for each packet, because the
    /// wall clock can be set at any time.
    func shift(monotonic: MonotonicInstant = SystemClock().now, wall: WallInstant = Self.wallTime) -> Duration {
        self == .monotonic ? .zero : .nanoseconds(monotonic.nanoseconds &- wall.nanoseconds)
    }

    /// The time of CLOCK_REALTIME.
    static var wallTime: WallInstant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
