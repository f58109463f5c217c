// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Judges whether the machine decodes a live source in time, and decides what to do if it does not. A pure state
/// machine: it turns events into actions, and has no clock or I/O.
///
/// If the network delivers packets late, the decoding thread pauses between frames; the machine is then not overloaded.
/// The machine is overloaded only if the decoding thread never pauses and its frames are nevertheless ready after their
/// due times.
struct DecodingLoad {
    /// A switch between decoding all frames of the source and decoding only its keyframes.
    enum Action: Equatable {
        /// Decode only keyframes: decoding one second of the source takes `slowness` seconds.
        case reduce(slowness: Double)
        /// Decode all frames again.
        case restore
    }

    private enum State {
        case all(since: MonotonicInstant)
        case keyframes(until: MonotonicInstant)
    }

    /// How long the machine must be overloaded before decoding is reduced to keyframes.
    private static let patience = Duration.seconds(2)
    /// After this long without a pause of the decoding thread, a late frame counts as the fault of the machine.
    private static let notice = Duration.milliseconds(100)
    /// The time for which only keyframes are decoded before decoding all frames is tried again. It is `firstPause` at
    /// first, and doubles with each overload up to `longestPause`.
    private static let (firstPause, longestPause) = (Duration.seconds(10), Duration.seconds(300))
    /// After all frames were decoded for this long without a reduction, the next reduction to keyframes lasts
    /// ``firstPause`` again.
    private static let recovery = Duration.seconds(60)

    private var state: State
    private var pause = Self.firstPause
    /// The current period without a pause of the decoding thread: when its first frame was ready, and that frame's time
    /// on the source's timeline.
    private var busy: (since: MonotonicInstant, from: Timestamp)?

    /// Creates the state for a source, all of whose frames are decoded from `now` on.
    init(at now: MonotonicInstant) { state = .all(since: now) }

    /// Records that the decoding thread has paused until `now`, because no packet was due. Returns the switch back to
    /// all frames if it is to be made now; nil otherwise.
    mutating func rested(at now: MonotonicInstant) -> Action? {
        busy = nil
        if case .all(let since) = state, now - since >= Self.recovery { pause = Self.firstPause }
        return restore(at: now)
    }

    /// Records that a decoded frame was ready at `now`. `time` is its time on the source's timeline; `due` is its due
    /// time, or nil if the due time is unknown. Returns whether the frame is late because the machine is too slow,
    /// which is always false while only keyframes are decoded. Also returns the switch to make: to keyframes only
    /// (which needs `mayReduce`), or back to all frames; nil for none.
    mutating func decoded(
        _ time: Timestamp, due: MonotonicInstant?, at now: MonotonicInstant, mayReduce: Bool = true
    ) -> (isOverdue: Bool, action: Action?) {
        guard case .all = state else { return (false, restore(at: now)) }
        guard let busy else {
            self.busy = (now, time)
            return (false, nil)
        }
        let (spent, gained) = (now - busy.since, time - busy.from)
        // After a burst of packets, frames are decoded faster than they play (spent <= gained). This is no overload.
        guard let due, now > due, spent >= Self.notice, gained > .zero, spent > gained else { return (false, nil) }
        guard mayReduce, spent >= Self.patience else { return (true, nil) }
        state = .keyframes(until: now + pause)
        pause = min(pause + pause, Self.longestPause)
        return (true, .reduce(slowness: spent.inSeconds / gained.inSeconds))
    }

    private mutating func restore(at now: MonotonicInstant) -> Action? {
        guard case .keyframes(let until) = state, now >= until else { return nil }
        (state, busy) = (.all(since: now), nil)
        return .restore
    }
}
