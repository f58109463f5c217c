// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides whether another SRT socket may be created while earlier ones are still closing.
///
/// `srt_close` may hang, and each close has its own thread. While at most ``maximum`` closes are pending, new sockets
/// are not limited. While more are pending, one socket per minute is allowed, so that the number of threads grows
/// slowly if the library hangs, and SRT still works if single closes never return.
struct SRTClosings {
    /// The maximum number of pending closes with which new sockets are not limited.
    static let maximum = 32
    /// The interval between new sockets while more closes are pending.
    static let interval = Duration.seconds(60)

    /// Number of pending closes.
    private(set) var count = 0
    private var lastOpening: Int64?

    /// Permission to create one socket.
    struct Reservation {
        fileprivate let time: Int64
        fileprivate let previous: Int64?
    }

    /// Reserves a socket at `now`, in monotonic nanoseconds; nil if no socket is allowed. This is one atomic step, so
    /// that no other output gets the same permission.
    mutating func reserve(at now: Int64) -> Reservation? {
        let isLate = lastOpening.map { now - $0 >= Self.interval.inNanoseconds } ?? true
        guard count < Self.maximum || isLate else { return nil }
        defer { lastOpening = now }
        return Reservation(time: now, previous: lastOpening)
    }

    /// Takes back a reservation whose socket was not created, unless another socket was allowed since.
    mutating func giveBack(_ reservation: Reservation) {
        if lastOpening == reservation.time { lastOpening = reservation.previous }
    }

    /// Counts a close that begins.
    mutating func began() { count += 1 }

    /// Counts a close that completed.
    mutating func ended() { count -= 1 }
}
