// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides whether a new SRT socket may be created while earlier sockets are still being closed.
///
/// A call of `srt_close` may hang, and each call runs on its own thread. While fewer than ``maximum`` of these calls
/// are pending, any number of sockets may be created. Otherwise one socket per minute is allowed. The number of threads
/// then grows slowly if libsrt hangs, and SRT still works if single calls never return.
struct SRTClosings {
    /// The number of pending calls of `srt_close` from which on new sockets are limited.
    static let maximum = 32
    /// While ``maximum`` or more calls of `srt_close` are pending, one new socket is allowed in each interval of this
    /// length.
    static let interval = Duration.seconds(60)

    /// The number of pending calls of `srt_close`.
    private(set) var count = 0
    private var lastOpening: MonotonicInstant?

    /// The permission to create one socket.
    struct Reservation {
        fileprivate let time: MonotonicInstant
        fileprivate let previous: MonotonicInstant?
    }

    /// Returns the permission to create a socket at `now`; nil if no socket is allowed now.
    /// Checking and reserving is one step, so that two outputs never get the same permission.
    mutating func reserve(at now: MonotonicInstant) -> Reservation? {
        let isLate = lastOpening.map { now - $0 >= Self.interval } ?? true
        guard count < Self.maximum || isLate else { return nil }
        defer { lastOpening = now }
        return Reservation(time: now, previous: lastOpening)
    }

    /// Takes back `reservation`, because its socket was not created. Does nothing if another socket was allowed since
    /// then.
    mutating func giveBack(_ reservation: Reservation) {
        if lastOpening == reservation.time { lastOpening = reservation.previous }
    }

    /// Records that a call of `srt_close` begins.
    mutating func began() { count += 1 }

    /// Records that a call of `srt_close` has returned.
    mutating func ended() { count -= 1 }
}
