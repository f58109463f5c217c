// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides when an output requests a keyframe that it, or one of its receivers, needs.
///
/// An IDR frame on request reduces the quality of all other outputs. So a receiver first waits for the next regular
/// keyframe, for up to 2.5 s, which is longer than the usual GOP. Each request doubles this time, up to 40 s, and each
/// minute without a request halves it: an output that keeps reconnecting requests about one keyframe per minute,
/// regardless of the GOP. For a receiver that shows no video before the keyframe, the first request is immediate.
///
/// Times are monotonic nanoseconds. Used by one thread at a time.
struct KeyframePatience: Sendable {
    private static let first = Duration.milliseconds(2500)
    private static let doublings = 4
    private static let memory = Duration.seconds(60)

    private var waitingSince: Int64?
    /// How many times the waiting time was doubled, at `lastRequest`.
    private var level = 0
    private var lastRequest: Int64 = 0
    /// Number of requests so far.
    private(set) var requests = 0

    /// Whether a receiver waits for a keyframe.
    var isWaiting: Bool { waitingSince != nil }

    /// Starts to wait for a keyframe at `now`, unless it is waiting already. `isUrgent` means that a receiver shows no
    /// video until then: the wait is 2.5 s shorter, so the request is immediate unless there was a recent one.
    mutating func wait(from now: Int64, isUrgent: Bool = false) {
        let start = isUrgent ? now - Self.first.inNanoseconds : now
        waitingSince = min(waitingSince ?? start, start)
    }

    /// Stops waiting: a keyframe came, or no receiver needs a keyframe any more.
    mutating func stopWaiting() { waitingSince = nil }

    /// Whether a keyframe must be requested now. If so, counts the request and restarts the wait.
    mutating func isRequestDue(at now: Int64) -> Bool {
        guard let since = waitingSince else { return false }
        let remembered = max(0, level - Int((now - lastRequest) / Self.memory.inNanoseconds))
        guard now - since >= Self.first.inNanoseconds << remembered else { return false }
        (waitingSince, lastRequest) = (now, now)
        level = min(remembered + 1, Self.doublings)
        requests += 1
        return true
    }

    /// Counts a request that did not wait here, because the attempt that made it had already waited.
    mutating func countRequest() { requests += 1 }
}
