// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Whether the machine decodes a live source in time, and what is to be done where it does not: a pure machine, events in,
/// actions out.
///
/// What comes late by the network is not the machine's fault: then the thread that decodes rests between its frames. Only
/// one that never does, and whose frames are ready after their time, has too much to do.
struct DecodingLoad {
    /// What to do.
    enum Action: Equatable {
        /// Decode keyframes alone: a second of the source takes so many seconds.
        case reduce(slowness: Double)
        /// Decode everything again.
        case restore
    }

    private enum State {
        case all(since: Timestamp)
        case keyframes(until: Timestamp)
    }

    /// How long it may have too much to do before less is decoded.
    private static let patience = Duration.seconds(2)
    /// Without a rest for so long a frame that is late is so because of the machine.
    private static let notice = Duration.milliseconds(100)
    /// When everything is tried again: the first time, and at most.
    private static let (firstPause, longestPause) = (Duration.seconds(10), Duration.seconds(300))
    /// After so long in time what was is forgotten.
    private static let recovery = Duration.seconds(60)

    private var state: State
    private var pause = Self.firstPause
    /// The first frame since the thread rested: when it was ready, and its time.
    private var busy: (since: Timestamp, from: Timestamp)?

    /// A source that is decoded from `now` on.
    init(at now: Timestamp) { state = .all(since: now) }

    /// The thread had nothing to do up to `now`.
    mutating func rested(at now: Timestamp) -> Action? {
        busy = nil
        if case .all(let since) = state, now - since >= Self.recovery { pause = Self.firstPause }
        return restore(at: now)
    }

    /// The frame of `time` on the source's timeline, which is due at `due` if that is known, was ready at `now`. Whether the
    /// machine was late with it; nothing else is done about it where the source may not be reduced.
    mutating func decoded(
        _ time: Timestamp, due: Timestamp?, at now: Timestamp, mayReduce: Bool = true
    ) -> (isOverdue: Bool, action: Action?) {
        guard case .all = state else { return (false, restore(at: now)) }
        guard let busy else {
            self.busy = (now, time)
            return (false, nil)
        }
        let (spent, gained) = (now - busy.since, time - busy.from)
        // What came all at once is decoded faster than it plays.
        guard let due, now > due, spent >= Self.notice, gained > .zero, spent > gained else { return (false, nil) }
        guard mayReduce, spent >= Self.patience else { return (true, nil) }
        state = .keyframes(until: now + pause)
        pause = min(pause + pause, Self.longestPause)
        return (true, .reduce(slowness: spent.inSeconds / gained.inSeconds))
    }

    private mutating func restore(at now: Timestamp) -> Action? {
        guard case .keyframes(let until) = state, now >= until else { return nil }
        (state, busy) = (.all(since: now), nil)
        return .restore
    }
}
