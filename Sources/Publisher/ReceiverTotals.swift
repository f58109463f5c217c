// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media
internal import Synchronization

/// One of the receivers that are connected to an output that listens.
protocol CountedReceiver: AnyObject, Sendable {
    /// The queue of packets for this receiver.
    var packets: PacketQueue { get }
    /// The totals of bytes and frames sent to this receiver so far.
    var progress: AttemptProgress { get }
}

/// Adds up the totals of all receivers of an output that listens, including receivers that have left. May be used on
/// any thread.
final class ReceiverTotals: Sendable {
    private struct State {
        var receivers: [any CountedReceiver] = []
        /// The sum of the totals of receivers that have left.
        var past = AttemptProgress()
        var pastSRT = SRTStatistics.Totals()
        var total = 0
        var refused: UInt64 = 0
    }

    private let kind: OutputDetails.Receivers.Kind
    private let state = Mutex(State())

    /// Creates totals without any receiver.
    init(_ kind: OutputDetails.Receivers.Kind) { self.kind = kind }

    /// Counts a new receiver and returns its number. The first receiver has the number 1.
    func nextNumber() -> Int {
        state.withLock { state in
            state.total += 1
            return state.total
        }
    }

    /// Counts a refused receiver.
    func countRefusal() { state.withLock { $0.refused += 1 } }

    /// Sets the number of refused receivers. Returns the number that was set before.
    func setRefused(_ count: UInt64) -> UInt64 {
        state.withLock { state in
            defer { state.refused = count }
            return state.refused
        }
    }

    /// Adds a receiver that is on air to the sums.
    func add(_ receiver: any CountedReceiver) { state.withLock { $0.receivers.append(receiver) } }

    /// Removes a receiver that has left, and keeps its totals in the sums. Both happen under one lock, so that no sum
    /// ever decreases. Packets that still wait for the receiver count as dropped.
    func remove(_ leaving: any CountedReceiver) {
        leaving.packets.discard()
        let (progress, drops) = (leaving.progress, leaving.packets.drops)
        state.withLock { state in
            state.receivers.removeAll { $0 === leaving }
            state.past.bytes += progress.bytes
            state.past.frames += progress.frames
            state.past.drops.add(progress.drops)
            state.past.drops.add(drops)
            state.past.drops.add(.notConnected, frames: progress.waitingFrames)
            if let srt = progress.details.srt { state.pastSRT.add(srt.totals) }
        }
    }

    /// The sums over all receivers of bytes, frames and drops. A frame that was sent to three receivers, or dropped for
    /// three, counts three times.
    var progress: AttemptProgress {
        let state = state.withLock { $0 }
        var sum = state.past
        let all = state.receivers.map(\.progress)
        for progress in all {
            sum.bytes += progress.bytes
            sum.frames += progress.frames
            sum.drops.add(progress.drops)
            sum.waitingFrames += progress.waitingFrames
        }
        for receiver in state.receivers { sum.waitingFrames += receiver.packets.waitingFrames }
        let queues = state.receivers.map(\.packets.status)
        for queue in queues { sum.drops.add(queue.dropCounts) }
        if kind == .callers {
            sum.details.srt = SRTStatistics.merged(all.compactMap(\.details.srt), past: state.pastSRT)
        }
        sum.details.receivers = .init(
            kind, count: state.receivers.count, total: state.total, refused: Int(clamping: state.refused),
            queueMilliseconds: queues.map(\.milliseconds).max() ?? 0,
            droppedFrames: queues.map(\.droppedFrames).max() ?? 0)
        return sum
    }
}
