// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media
internal import SRT
internal import Synchronization

/// The totals of all callers of a listening output, including those that have left. May be used on any thread.
final class SRTCallerTotals: Sendable {
    private struct State {
        var sessions: [SRTSession] = []
        /// The totals of the callers that have left.
        var past = AttemptProgress()
        var pastTotals = SRTStatistics.Totals()
        var callers = 0
        var rejected: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Counts a caller and returns its number, counted from 1.
    func nextNumber() -> Int {
        state.withLock { state in
            state.callers += 1
            return state.callers
        }
    }

    /// Sets the sessions that are on air.
    func setSessions(_ sessions: [SRTSession]) { state.withLock { $0.sessions = sessions } }

    /// Removes `leaving` and adds its totals to `past` in one step, so that no number decreases.
    func remove(_ leaving: SRTSession) {
        let (progress, drops) = (leaving.progress, leaving.packets.drops)
        state.withLock { state in
            state.sessions.removeAll { $0 === leaving }
            state.past.bytes += progress.bytes
            state.past.frames += progress.frames
            state.past.drops.add(progress.drops)
            state.past.drops.add(drops)
            state.pastTotals.add(leaving.statistics.totals)
        }
    }

    /// Sets the number of refused callers. Returns the number that was set before.
    func setRejected(_ count: UInt64) -> UInt64 {
        state.withLock { state in
            defer { state.rejected = count }
            return state.rejected
        }
    }

    /// The sums of all callers' bytes, frames and drops: a frame that three callers got, or missed, counts three times.
    var progress: AttemptProgress {
        let state = state.withLock { $0 }
        var sum = state.past
        for progress in state.sessions.map(\.progress) {
            sum.bytes += progress.bytes
            sum.frames += progress.frames
            sum.drops.add(progress.drops)
        }
        let queues = state.sessions.map(\.packets.status)
        for queue in queues { sum.drops.add(queue.dropCounts) }
        sum.details.srt = SRTStatistics.merged(state.sessions.map(\.statistics), past: state.pastTotals)
        sum.details.receivers = .init(
            .callers, count: state.sessions.count, total: state.callers, refused: Int(clamping: state.rejected),
            queueMilliseconds: queues.map(\.milliseconds).max() ?? 0,
            droppedFrames: queues.map(\.droppedFrames).max() ?? 0)
        return sum
    }
}
