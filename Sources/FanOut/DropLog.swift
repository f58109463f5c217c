// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides what the log says about packets that an output, or one of its receivers, does not get: the packets missed
/// off air, the start of drops on air, and their end, each once. A target that is too slow for a long time drops
/// packets and recovers every few seconds. That counts as one episode, which ends after 10 s without a drop.
///
/// All counts are totals. Times are monotonic nanoseconds. Used by one thread at a time.
package struct DropLog: Sendable {
    /// An event to log about drops on air.
    package enum Event: Sendable, Equatable {
        /// An episode began with these drops.
        case began(DropCounts)
        /// The episode ended; these are all drops of the episode.
        case over(DropCounts)
        /// The queue went off air during the episode, or with drops that were not logged yet; these are all of these
        /// drops.
        case cut(DropCounts)
    }

    private enum State {
        /// Off air: dropped packets count as missed. `since` are the counts at the time when the output went off air;
        /// nil if it was never on air.
        case offAir(since: DropCounts?)
        /// On air without drops; the counts so far.
        case quiet(DropCounts)
        /// An episode of drops: `before` has the counts at its start, `last` has those of the last check; the newest
        /// drop was at `time` or later.
        case dropping(before: DropCounts, last: DropCounts, time: Int64)
    }

    private static let recovery = Duration.seconds(10)
    private var state = State.offAir(since: nil)

    /// Creates a log for an output that is off air and was never on air.
    package init() {}

    /// The queue has a keyframe with which it can begin, so it is on air from now on. Returns the packets missed since
    /// it went off air; nil if it was already on air, or is on air for the first time.
    package mutating func join(_ counts: DropCounts) -> DropCounts? {
        guard case .offAir(let before) = state else { return nil }
        state = .quiet(counts)
        return before.map { counts.since($0) }
    }

    /// Checks the counts at `now`. Must be called after a drop, and periodically.
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

    /// The queue goes off air, temporarily or for good, which ends an episode early. Packets dropped from now on count
    /// as missed.
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

    /// The drops since the counts `before`.
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

/// Counts of packets that did not reach an output or one of its receivers.
package struct DropCounts: Sendable, Equatable {
    /// Dropped packets of both tracks, by cause.
    package var causes: [DropCause: Int] = [:]
    /// Number of video frames among the dropped packets.
    package var frames = 0

    package init() {}

    /// Dropped packets of both tracks, for all causes.
    package var packets: Int { causes.values.reduce(0, +) }

    /// Adds the counts of `other`.
    package mutating func add(_ other: DropCounts) {
        causes.merge(other.causes, uniquingKeysWith: +)
        frames += other.frames
    }

    /// Counts one packet.
    mutating func count(_ cause: DropCause, isFrame: Bool) {
        causes[cause, default: 0] += 1
        if isFrame { frames += 1 }
    }

    /// Counts the packets of `count` frames.
    package mutating func add(_ cause: DropCause, frames count: Int) {
        guard count > 0 else { return }
        causes[cause, default: 0] += count
        frames += count
    }
}
