// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides whether another SRT socket may be made while earlier ones are still closing.
///
/// `srt_close` may hang, and each close has a thread. Up to ``maximum`` closes hold no new socket back. Beyond that one
/// socket a minute is made, so that threads grow slowly where the library hangs, and SRT does not end for good where
/// single closes never return.
struct SRTClosings {
    /// Closes that may be under way without holding new sockets back.
    static let maximum = 32
    /// Beyond that, the time between two new sockets.
    static let interval = Duration.seconds(60)

    /// Closes under way.
    private(set) var count = 0
    private var lastOpening: Int64?

    /// The right to make one socket.
    struct Reservation {
        fileprivate let time: Int64
        fileprivate let previous: Int64?
    }

    /// Reserves room for a socket that is made at `now`, in monotonic nanoseconds; nil if there is no room. This is one
    /// step, so that no other output takes the same room.
    mutating func reserve(at now: Int64) -> Reservation? {
        let isLate = lastOpening.map { now - $0 >= Self.interval.inNanoseconds } ?? true
        guard count < Self.maximum || isLate else { return nil }
        defer { lastOpening = now }
        return Reservation(time: now, previous: lastOpening)
    }

    /// No socket was made: releases the room, unless another socket has taken some since.
    mutating func giveBack(_ reservation: Reservation) {
        if lastOpening == reservation.time { lastOpening = reservation.previous }
    }

    /// A close begins.
    mutating func began() { count += 1 }

    /// A close is over.
    mutating func ended() { count -= 1 }
}
