// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides whether another SRT socket may be created while earlier ones are still closing.
///
/// `srt_close` may hang, and each close has a thread. Up to ``maximum`` pending closes do not limit new sockets. With
/// more, one socket per minute is allowed, so that threads grow slowly if the library hangs, and SRT still works if
/// single closes never return.
struct SRTClosings {
    /// The number of pending closes that do not limit new sockets.
    static let maximum = 32
    /// The interval between new sockets beyond that number.
    static let interval = Duration.seconds(60)

    /// Number of pending closes.
    private(set) var count = 0
    private var lastOpening: Int64?

    /// Permission to create one socket.
    struct Reservation {
        fileprivate let time: Int64
        fileprivate let previous: Int64?
    }

    /// Reserves a socket at `now`, in monotonic nanoseconds; nil if it is not allowed. This is one atomic step, so that
    /// no other output gets the same permission.
    mutating func reserve(at now: Int64) -> Reservation? {
        let isLate = lastOpening.map { now - $0 >= Self.interval.inNanoseconds } ?? true
        guard count < Self.maximum || isLate else { return nil }
        defer { lastOpening = now }
        return Reservation(time: now, previous: lastOpening)
    }

    /// Returns a reservation whose socket was not created, unless another socket was allowed since.
    mutating func giveBack(_ reservation: Reservation) {
        if lastOpening == reservation.time { lastOpening = reservation.previous }
    }

    /// Counts a close that begins.
    mutating func began() { count += 1 }

    /// Counts a close that completed.
    mutating func ended() { count -= 1 }
}
