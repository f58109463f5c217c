// SPDX-License-Identifier: Apache-2.0

package import Media

/// Decides what is logged about packets that an output, or one of its receivers, does not get. Three things are logged,
/// each once: the packets that were missed off air, the start of drops on air, and the end of drops on air. A target
/// that is too slow for a long time drops packets and recovers every few seconds. All these drops count as one episode.
/// An episode ends after 10 s without a drop.
///
/// All counts that callers pass in are totals since the output was created. Only one thread at a time may use it.
package struct DropLog: Sendable {
    /// An event to log about drops on air.
    package enum Event: Sendable, Equatable {
        /// An episode of drops began. The counts are its first drops.
        case began(DropCounts)
        /// The episode ended. The counts are all drops of the episode.
        case over(DropCounts)
        /// The output went off air during an episode, or with drops that were not logged yet. The counts are all drops
        /// of the episode, or all drops that were not logged yet.
        case cut(DropCounts)
    }

    private enum State {
        /// The output is off air, so dropped packets count as missed. `since` are the counts at the moment when the
        /// output went off air; nil if it was never on air.
        case offAir(since: DropCounts?)
        /// The output is on air and nothing is being dropped. The value has the counts so far.
        case quiet(DropCounts)
        /// The output is on air in an episode of drops. `before` has the counts at the start of the episode. `last` has
        /// the counts at the last check. `time` is when the newest drop was found.
        case dropping(before: DropCounts, last: DropCounts, time: MonotonicInstant)
    }

    private static let recovery = Duration.seconds(10)
    private var state = State.offAir(since: nil)

    /// Creates a log for an output that is off air and was never on air.
    package init() {}

    /// Records that the output is on air, because its queue has a keyframe with which a receiver can begin. Returns the
    /// packets that were missed since the output went off air; nil if the output was already on air, or is on air for
    /// the first time.
    package mutating func join(_ counts: DropCounts) -> DropCounts? {
        guard case .offAir(let before) = state else { return nil }
        state = .quiet(counts)
        return before.map { counts.since($0) }
    }

    /// Compares the counts at `now` with the earlier ones, and returns what to log. Must be called after each drop and
    /// also periodically, because the end of an episode is found only by a call.
    package mutating func note(_ counts: DropCounts, at now: MonotonicInstant) -> Event? {
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
            guard now - time > Self.recovery else { return nil }
            state = .quiet(counts)
            return .over(counts.since(before))
        }
    }

    /// Records that the output goes off air, temporarily or for good. This ends an episode early. Packets that are
    /// dropped from now on count as missed.
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
    /// The number of packets that were dropped although the output was connected.
    fileprivate var onAir: Int { packets - causes[.notConnected, default: 0] }

    /// The drops that were added since the counts were `before`.
    package func since(_ before: DropCounts) -> DropCounts {
        var difference = DropCounts()
        difference.causes = causes.merging(before.causes) { $0 - $1 }.filter { $0.value > 0 }
        difference.frames = frames - before.frames
        return difference
    }

    /// One line with each cause and its count, in a fixed order: `congestion=3 awaiting_keyframe=40`.
    package var summary: String {
        DropCause.allCases.compactMap { cause in causes[cause].map { "\(cause.rawValue)=\($0)" } }
            .joined(separator: " ")
    }
}

/// How many packets did not reach an output, or one of its receivers.
package struct DropCounts: Sendable, Equatable {
    /// The number of dropped packets of all tracks, by cause.
    package var causes: [DropCause: Int] = [:]
    /// The number of video frames among the dropped packets.
    package var frames = 0

    package init() {}

    /// The number of dropped packets of all tracks, for all causes together.
    package var packets: Int { causes.values.reduce(0, +) }

    /// Adds the counts of `other`.
    package mutating func add(_ other: DropCounts) {
        causes.merge(other.causes, uniquingKeysWith: +)
        frames += other.frames
    }

    /// Counts one dropped packet. `isFrame` means that the packet is a video frame.
    mutating func count(_ cause: DropCause, isFrame: Bool) {
        causes[cause, default: 0] += 1
        if isFrame { frames += 1 }
    }

    /// Counts `count` dropped video frames, each of which is one packet.
    package mutating func add(_ cause: DropCause, frames count: Int) {
        guard count > 0 else { return }
        causes[cause, default: 0] += count
        frames += count
    }
}
