// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides when an output asks for a keyframe that it, or one of its receivers, waits for.
///
/// An IDR frame that is asked for costs all other outputs quality. So a receiver that waits gets the keyframe that
/// comes anyway, up to a patience of 2.5 s, which is more than the usual GOP. Each request doubles the patience, up to
/// 40 s, and each minute without one halves it: an output that flaps asks about once a minute, whatever the GOP. A
/// receiver that shows nothing before the keyframe has the first one at once.
///
/// Times are monotonic nanoseconds. One thread at a time.
struct KeyframePatience: Sendable {
    private static let first = Duration.milliseconds(2500)
    private static let doublings = 4
    private static let memory = Duration.seconds(60)

    private var waitingSince: Int64?
    /// How often the patience was doubled, at `lastRequest`.
    private var level = 0
    private var lastRequest: Int64 = 0
    /// Requests so far.
    private(set) var requests = 0

    /// Whether a keyframe is waited for.
    var isWaiting: Bool { waitingSince != nil }

    /// A keyframe is waited for from `now` on, or was already. `isUrgent` says that a receiver shows nothing until then: the
    /// wait is 2.5 s shorter, and ends at once unless a keyframe was asked for lately.
    mutating func wait(from now: Int64, isUrgent: Bool = false) {
        let start = isUrgent ? now - Self.first.inNanoseconds : now
        waitingSince = min(waitingSince ?? start, start)
    }

    /// A keyframe came, or no receiver waits for one any more.
    mutating func stopWaiting() { waitingSince = nil }

    /// Whether a keyframe is to be asked for now. If so, counts the request and starts the wait again.
    mutating func isRequestDue(at now: Int64) -> Bool {
        guard let since = waitingSince else { return false }
        let remembered = max(0, level - Int((now - lastRequest) / Self.memory.inNanoseconds))
        guard now - since >= Self.first.inNanoseconds << remembered else { return false }
        (waitingSince, lastRequest) = (now, now)
        level = min(remembered + 1, Self.doublings)
        requests += 1
        return true
    }

    /// Counts a request that did not wait here, because its sender had waited already.
    mutating func countRequest() { requests += 1 }
}
