// SPDX-License-Identifier: Apache-2.0

package import Media

/// How the first packet of a new connection continues the media of the connection before it.
package enum Reconnection: Sendable, Hashable {
    /// The sender's timestamps continue: the packet is the next one, comes after a gap, or repeats one that is not due yet.
    case sameTimestamps
    /// The sender's timestamps begin again. The packet gets the delay that packets usually had.
    case otherTimestamps
    /// The break was too long, or the delays before it do not show when the new media is due: the clock must be
    /// restarted.
    case restart
}

/// The first moments after a reconnection, in which the delays of packets are not typical: what waited at the sender or
/// on the server, and what was read while libavformat probed the input, arrives all at once.
struct ReconnectionTrial: Sendable {
    /// Until when late packets do not move the mapping.
    let patience: MonotonicInstant
    /// When it is checked whether the first packet had waited, if the timestamps begin again.
    var checks: [MonotonicInstant]
}

extension SourceClock {
    /// Continues after a reconnection, whose first packet has the timestamps `stamp` and arrived at `arrival`. To be
    /// called before this packet is recorded. The mapping stays the same, so that the media before the break and the
    /// media after it are shown without a gap that the sender did not make. Changes nothing if the clock must be
    /// restarted instead.
    package mutating func reconnect(with stamp: Stamp, at arrival: MonotonicInstant) -> Reconnection {
        let arrived = max(now, arrival)
        // A source that can wait has neither a mapping nor delays. Files begin again in a loop, and continue nothing.
        let isFile = settings.arrivals == .none
        guard settings.arrivals != .captureTime, maps.count == 1, delays.values.allSatisfy({ $0.bias == .zero }),
            isFile ? settings.repeats > .zero : isPlaced && arrived - lastArrival <= max(lostAfter, maps[0].buffer)
        else { return .restart }
        let isContinued = continues(stamp, arrived)
        if isContinued {
            for track in delays.tracks { repeated[track] = timeline.last(of: track) }
            timeline.reconnect()
            let patience = arrived + settings.collecting
            trial = isFile ? nil : ReconnectionTrial(patience: patience, checks: trial?.checks ?? [])
        } else {
            // Segments come in bursts, so an arrival does not show where their media belongs.
            guard settings.arrivals == .jitter else { return .restart }
            beginAgain(with: stamp.track, at: arrived)
        }
        (lastArrival, silence) = (arrived, (.zero, 0))
        return isContinued ? .sameTimestamps : .otherTimestamps
    }

    /// Whether `stamp` continues the timestamps before the break. It does if it comes next, if by the present mapping it
    /// is on time, or if it repeats media that the input may deliver again.
    private func continues(_ stamp: Stamp, _ arrived: MonotonicInstant) -> Bool {
        guard let time = timeline.peek(stamp) else { return false }
        if timeline.continues(stamp) || timeline.repeats(stamp, within: settings.repeats) { return true }
        guard let offset = maps[0].offset else { return false }
        let delay = arrived.delay(of: time)
        return delay >= floor(of: maps[0], at: arrived) - Self.near && delay <= offset.value
    }

    private mutating func beginAgain(with first: TrackKind, at arrived: MonotonicInstant) {
        timeline.restart(with: first, at: arrived)
        maps[0].floor.restart()
        for track in delays.tracks {
            let isSilent = delays[track]?.isSilent ?? false
            delays[track] = TrackDelays(since: arrived, isJoining: false)
            delays[track]?.isSilent = isSilent
        }
        (lateArrivals, repeated) = ([], PerTrack())
        // The first check comes before the first packet is due, so that what it changes is not seen.
        let first = min(settings.collecting, maps[0].buffer) / 2
        trial = ReconnectionTrial(
            patience: arrived + first, checks: [arrived + first, arrived + settings.collecting])
    }

    /// Whether a packet that arrived at `arrived` must not move the mapping, because there was a reconnection shortly
    /// before. If the timestamps began again with a packet that had waited, later packets have smaller delays. The mapping
    /// then makes a step, so that the source is not shown later than before the break.
    mutating func isOnTrial(at arrived: MonotonicInstant, _ events: inout [SourceClockEvent]) -> Bool {
        guard var trial else { return false }
        if let check = trial.checks.first, arrived >= check {
            trial.checks.removeFirst()
            if let offset = maps[0].offset {
                let distance = floor(of: maps[0], at: arrived) + maps[0].buffer - offset.value
                if distance < .zero - Self.near { stepToFloor(by: distance, &events) }
            }
        }
        let isOver = trial.checks.isEmpty && arrived >= trial.patience
        self.trial = isOver ? nil : trial
        return arrived < trial.patience
    }

    /// Moves the mapping by `distance` together with its floor: the buffer keeps its length.
    private mutating func stepToFloor(by distance: Duration, _ events: inout [SourceClockEvent]) {
        maps[0].offset?.step(by: distance)
        status.steps += 1
        events.append(.stepped(distance))
    }
}
