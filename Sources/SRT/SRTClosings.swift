// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides whether another SRT socket may be made while earlier ones are still closing.
///
/// `srt_close` may hang, and each close has a thread. Up to ``maximum`` closes hold nobody back. Beyond that one socket a
/// minute is made, so that threads grow slowly where the library hangs, and SRT does not end for good where single
/// closes never return.
struct SRTClosings {
    /// Closes that may be under way without holding new sockets back.
    static let maximum = 32
    /// Beyond that, the time between two new sockets.
    static let interval = Duration.seconds(60)

    /// Closes under way.
    private(set) var count = 0
    private var lastOpening: Int64?

    /// Whether a socket may be made at `now`, in monotonic nanoseconds.
    func hasRoom(at now: Int64) -> Bool {
        count < Self.maximum || lastOpening.map { now - $0 >= Self.interval.inNanoseconds } ?? true
    }

    /// A socket was made at `now`.
    mutating func opened(at now: Int64) { lastOpening = now }

    /// A close begins.
    mutating func began() { count += 1 }

    /// A close is over.
    mutating func ended() { count -= 1 }
}
