// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media
import Synchronization

/// The packets that the attempts of one simulated output took from its queues, and those that they sent.
final class SentRecord: Sendable {
    /// A packet of the leading track that was sent.
    struct Sent: Sendable {
        /// When the packet was sent.
        let time: MonotonicInstant
        /// When the packet was published.
        let published: MonotonicInstant
    }

    private struct State {
        var attempts: [SimulatedAttempt] = []
        /// The number of packets taken by attempts that are over.
        var takenBefore = 0
        /// Whether each frame, and each audio packet, was sent. The index is the packet's frame interval.
        var (frames, audio): ([Bool], [Bool]) = ([], [])
        var count = 0
        var unheardFrames = 0
        var last: Sent?
        var shown: Sent?
        /// The reports of the newest attempts, which are also used after the attempts are over.
        var reports: [(attempt: SimulatedAttempt, report: @Sendable (AttemptEvent) -> Void)] = []
    }

    /// The number of attempts whose reports are kept.
    private static let keptReports = 4

    private let program: SimulatedProgram
    private let state = Mutex(State())

    init(_ program: SimulatedProgram) { self.program = program }

    /// The attempts that are not over, in the order in which they were made.
    var attempts: [SimulatedAttempt] { state.withLock { $0.attempts } }

    /// The last packet of the leading track that was sent.
    var last: Sent? { state.withLock { $0.last } }

    /// The last packet of the leading track that a receiver got and could decode.
    var shown: Sent? { state.withLock { $0.shown } }

    /// The number of frames and audio packets that were sent.
    var sentCount: Int { state.withLock { $0.count } }

    /// The number of frames that the attempts of an output that listens took while no receiver was connected, or while
    /// the receiver waited for the keyframe at which it begins.
    var unheardFrames: Int { state.withLock { $0.unheardFrames } }

    /// The closures to which those of the newest attempts that are over reported.
    var lateReports: [@Sendable (AttemptEvent) -> Void] {
        state.withLock { $0.reports }.filter(\.attempt.isOver).map(\.report)
    }

    func add(_ attempt: SimulatedAttempt, report: @escaping @Sendable (AttemptEvent) -> Void) {
        state.withLock { state in
            state.attempts.append(attempt)
            state.reports.append((attempt, report))
            if state.reports.count > Self.keptReports { state.reports.removeFirst() }
        }
    }

    /// The number of packets that all attempts took from their queues. Forgets attempts that are over.
    func taken() -> Int {
        var (present, over) = (0, 0)
        // The attempts are asked outside of this record's lock, because an attempt calls the record while it holds its
        // own lock.
        let attempts = attempts.filter { attempt in
            let count = attempt.taken
            guard attempt.isOver else {
                present += count
                return true
            }
            over += count
            return false
        }
        let before = state.withLock { state in
            state.attempts = attempts
            state.takenBefore += over
            return state.takenBefore
        }
        return before + present
    }

    /// Records that an attempt took `packet` although no receiver gets it.
    func note(unheard packet: EncodedPacket) {
        if packet.track == .video { state.withLock { $0.unheardFrames += 1 } }
    }

    /// Records that `packet` was sent at `now`. Returns false if it had been sent before.
    func note(_ packet: EncodedPacket, at now: MonotonicInstant) -> Bool {
        guard packet.track != .data else { return true }
        let index = program.index(of: packet)
        return state.withLock { state in
            if packet.track == program.leading {
                state.last = Sent(time: now, published: .zero + program.interval * index)
            }
            let isNew =
                packet.track == .video ? Self.mark(index, in: &state.frames) : Self.mark(index, in: &state.audio)
            if isNew { state.count += 1 }
            return isNew
        }
    }

    /// Records that a receiver showed or played `packet` at `now`.
    func note(shown packet: EncodedPacket, at now: MonotonicInstant) {
        guard packet.track == program.leading else { return }
        let published = MonotonicInstant.zero + program.interval * program.index(of: packet)
        state.withLock { $0.shown = Sent(time: now, published: published) }
    }

    private static func mark(_ index: Int, in sent: inout [Bool]) -> Bool {
        while sent.count <= index { sent.append(false) }
        defer { sent[index] = true }
        return !sent[index]
    }
}
