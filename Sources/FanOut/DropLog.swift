// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides what the log says of the packets that an output, or one of its receivers, does not get: what it missed off
/// air, when its queue on air begins to drop, and when that is over, each once. A target that is too slow for long drops
/// and recovers every few seconds, which is one episode: it is over when nothing was dropped for 10 s.
///
/// All counts are totals. Times are monotonic nanoseconds. One thread at a time.
package struct DropLog: Sendable {
    /// What is worth telling of drops on air.
    package enum Event: Sendable, Equatable {
        /// An episode began with these drops.
        case began(DropCounts)
        /// It is over; these are all of its drops.
        case over(DropCounts)
        /// The queue went off air while it dropped, or dropped since it was looked at last; these are all of the drops.
        case cut(DropCounts)
    }

    private enum State {
        /// What is dropped is missed: since this was counted, or nothing if it was not on air before.
        case offAir(since: DropCounts?)
        /// Nothing is dropped; what was counted so far.
        case quiet(DropCounts)
        /// From `before` on packets are dropped: `last` was counted when it was looked at last, the newest drop is not
        /// older than `time`.
        case dropping(before: DropCounts, last: DropCounts, time: Int64)
    }

    private static let recovery = Duration.seconds(10)
    private var state = State.offAir(since: nil)

    /// Off air, and not on air before.
    package init() {}

    /// The queue has a keyframe to begin with, and so is on air from now on. Returns what was missed since it went off
    /// air; nil if it was on air already, or not on air before.
    package mutating func join(_ counts: DropCounts) -> DropCounts? {
        guard case .offAir(let before) = state else { return nil }
        state = .quiet(counts)
        return before.map { counts.since($0) }
    }

    /// Looks at what was counted up to `now`, after a drop and from time to time.
    package mutating func note(_ counts: DropCounts, at now: Int64) -> Event? {
        switch state {
        case .offAir: return nil
        case .quiet(let before):
            guard counts.onAir > before.onAir else { return nil }
            state = .dropping(before: before, last: counts, time: now)
            return .began(counts.since(before))
        case .dropping(let before, let last, let time):
            if counts.onAir > last.onAir {
                state = .dropping(before: before, last: counts, time: now)
                return nil
            }
            guard now - time > Self.recovery.inNanoseconds else { return nil }
            state = .quiet(counts)
            return .over(counts.since(before))
        }
    }

    /// The queue is off air, for a while or for good, and so an episode under way is cut short. What is dropped from now on
    /// is missed.
    package mutating func leave(_ counts: DropCounts) -> Event? {
        let event: Event?
        switch state {
        case .offAir: return nil
        case .quiet(let before): event = counts.onAir > before.onAir ? .cut(counts.since(before)) : nil
        case .dropping(let before, _, _): event = .cut(counts.since(before))
        }
        state = .offAir(since: counts)
        return event
    }
}

extension DropCounts {
    /// Packets that were dropped although the output was connected.
    fileprivate var onAir: Int { packets - causes[.notConnected, default: 0] }

    /// What was dropped since `before` was counted.
    package func since(_ before: DropCounts) -> DropCounts {
        var difference = DropCounts()
        difference.causes = causes.merging(before.causes) { $0 - $1 }.filter { $0.value > 0 }
        difference.frames = frames - before.frames
        return difference
    }

    /// The causes and their counts in one line, in a fixed order: `congestion=3 awaiting_keyframe=40`.
    package var summary: String {
        DropCause.allCases.compactMap { cause in causes[cause].map { "\(cause.rawValue)=\($0)" } }
            .joined(separator: " ")
    }
}
