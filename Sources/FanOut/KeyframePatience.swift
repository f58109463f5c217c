// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides when an output requests a keyframe for itself or for one of its receivers.
///
/// An additional IDR frame reduces the video quality of all outputs. So a receiver first waits up to 2.5 s for the next
/// regular keyframe; the usual GOP is shorter than that. Each request doubles this waiting time, up to 40 s. Each
/// minute without a request halves the waiting time. So an output that keeps reconnecting requests about one keyframe
/// per minute, whatever the length of the GOP. For a receiver that shows no video before the keyframe, the first
/// request is made at once.
///
/// Only one thread at a time may use it.
struct KeyframePatience: Sendable {
    private static let first = Duration.milliseconds(2500)
    private static let doublings = 4
    private static let memory = Duration.seconds(60)

    private var waitingSince: MonotonicInstant?
    /// After the request at `lastRequest`, the waiting time was 2.5 s, doubled this many times.
    private var level = 0
    private var lastRequest = MonotonicInstant.distantPast
    /// The number of requests so far.
    private(set) var requests = 0

    /// Whether the output or one of its receivers waits for a keyframe.
    var isWaiting: Bool { waitingSince != nil }

    /// Starts to wait for a keyframe at `now`. A wait that has already begun is not prolonged. `isUrgent` means that a
    /// receiver shows no video before the keyframe. The wait is then 2.5 s shorter, so the request is due at once if
    /// there was no recent request.
    mutating func wait(from now: MonotonicInstant, isUrgent: Bool = false) {
        let start = isUrgent ? now - Self.first : now
        waitingSince = min(waitingSince ?? start, start)
    }

    /// Stops waiting, because a keyframe came or because no receiver needs a keyframe any more.
    mutating func stopWaiting() { waitingSince = nil }

    /// Whether the caller must request a keyframe now. If so, counts the request and starts the next wait.
    mutating func isRequestDue(at now: MonotonicInstant) -> Bool {
        guard let since = waitingSince else { return false }
        let remembered = max(0, level - Int((now - lastRequest) / Self.memory))
        guard now - since >= Self.first * (1 << remembered) else { return false }
        (waitingSince, lastRequest) = (now, now)
        level = min(remembered + 1, Self.doublings)
        requests += 1
        return true
    }

    /// Counts a request that an attempt made by itself, after a wait of its own.
    mutating func countRequest() { requests += 1 }
}
