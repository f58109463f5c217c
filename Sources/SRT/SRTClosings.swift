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

    /// Makes a socket at `now`, in monotonic nanoseconds, if there is room for one. `make` must not block and returns the
    /// library's handle; one below 0 is none, and takes no room. Returns what `make` returned, nil without room.
    mutating func open(at now: Int64, _ make: () -> CInt) -> CInt? {
        let isLate = lastOpening.map { now - $0 >= Self.interval.inNanoseconds } ?? true
        guard count < Self.maximum || isLate else { return nil }
        let handle = make()
        if handle >= 0 { lastOpening = now }
        return handle
    }

    /// A close begins.
    mutating func began() { count += 1 }

    /// A close is over.
    mutating func ended() { count -= 1 }
}
