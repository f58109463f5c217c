// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Synchronization

/// The totals of all players of an offered stream, including those that have left. May be used on any thread.
final class RTMPAudienceTotals: Sendable {
    private struct State {
        var seats: [RTMPPlayerOutput] = []
        /// The totals of the players that have left.
        var past = AttemptProgress()
        var players = 0
        var refused = 0
    }

    private let state = Mutex(State())

    /// Counts a player and returns its number, counted from 1.
    func nextNumber() -> Int {
        state.withLock { state in
            state.players += 1
            return state.players
        }
    }

    /// Counts a player that was refused because it cannot play the stream on air.
    func countRefusal() { state.withLock { $0.refused += 1 } }

    /// Adds a player that is on air.
    func add(_ seat: RTMPPlayerOutput) { state.withLock { $0.seats.append(seat) } }

    /// Removes a player and adds its totals to `past` in one step, so that no number decreases.
    func remove(_ seat: RTMPPlayerOutput) {
        let (progress, drops) = (seat.connection.progress, seat.packets.drops)
        state.withLock { state in
            state.seats.removeAll { $0 === seat }
            state.past.bytes += progress.bytes
            state.past.frames += progress.frames
            state.past.drops.add(drops)
        }
    }

    /// The sums of all players' bytes, frames and drops: a frame that three players got, or missed, counts three times.
    var progress: AttemptProgress {
        let state = state.withLock { $0 }
        var sum = state.past
        var (queue, dropped) = (Int64(0), 0)
        for seat in state.seats {
            let (progress, packets) = (seat.connection.progress, seat.packets.status)
            sum.bytes += progress.bytes
            sum.frames += progress.frames
            sum.drops.add(packets.dropCounts)
            queue = max(queue, packets.milliseconds)
            dropped = max(dropped, packets.droppedFrames)
        }
        sum.details.receivers = .init(
            .players, count: state.seats.count, total: state.players, refused: state.refused,
            queueMilliseconds: queue, droppedFrames: dropped)
        return sum
    }
}
