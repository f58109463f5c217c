// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import Dispatch
internal import Media
internal import Synchronization

/// The recorder's queue. Its size in bytes is limited. It never drops packets that it has accepted: if it is full, or
/// if the shared budget is used up, it refuses new packets until half of the waiting bytes are taken, and then
/// continues at a keyframe.
final class RecorderQueue: Sendable {
    enum Item: Sendable {
        case packet(EncodedPacket)
        /// Packets have stopped arriving.
        case pause
        /// Packets are missing from here on, because the queue was full: `bytes` bytes were waiting.
        case overflowBegan(bytes: Int)
        /// The queue accepts packets again. It has refused this many frames; the earliest one has the presentation time
        /// `from`. The last refused audio packet can become the hidden first packet of the next file.
        case overflowEnded(frames: Int, from: ProgramInstant?, lastAudio: EncodedPacket?)
    }

    private struct Overflow {
        var frames = 0
        var lastAudio: EncodedPacket?
        var isKeyframeWanted = false
        var from: ProgramInstant?
        /// The queue accepts packets again when no more than this many bytes are waiting.
        var rest = 0

        mutating func refuse(_ packet: EncodedPacket, leading: TrackKind) {
            if packet.track == .audio { lastAudio = packet }
            guard packet.track == leading else { return }
            if packet.track == .video { frames += 1 }
            from = min(from ?? .distantFuture, packet.programPts)
        }

        var end: Item { .overflowEnded(frames: frames, from: from, lastAudio: lastAudio) }
    }

    private struct State {
        var items = Deque<Item>()
        var bytes = 0
        /// How many of the bytes are taken from the budget that all recorders share.
        var borrowed = 0
        var overflow: Overflow?
        /// Refused frames that the recorder has not counted yet.
        var uncounted = 0
        var oldest: ProgramInstant?
        var newest = ProgramInstant.zero
        /// Decoding time of the packet that was the newest one when the queue was last emptied.
        var taken: ProgramInstant?
        var isDrainScheduled = false
        /// Whether the queue contains an item that must not wait: a keyframe with which a file could begin, the end of
        /// a fragment, a pause, or a report of missing packets.
        var isUrgent = false
        /// The decoding time at which the recorder writes its next fragment; nil if it does not collect packets for a
        /// fragment.
        var fragmentEnd: ProgramInstant?
        /// The number of threads in ``waitForRoom(upTo:)``.
        var waiters = 0
        /// The number of items that were taken so far.
        var takenItems: UInt64 = 0

        mutating func refuse(_ packet: EncodedPacket, _ leading: TrackKind, _ overflow: inout Overflow) {
            let before = overflow.frames
            overflow.refuse(packet, leading: leading)
            uncounted += overflow.frames - before
        }

        /// Whether a program that no clock paces is allowed to continue, given a queue limit of `limit` bytes.
        func hasRoom(_ limit: Int) -> Bool {
            bytes <= limit / 2 && (oldest.map { newest - $0 } ?? .zero) <= RecorderQueue.longestLead
        }
    }

    /// The maximum time by which a program that no clock paces is allowed to be ahead of its recorder. When a file
    /// begins, the recorder requests the keyframe for the file's end. The encoder must not have encoded that frame yet.
    private static let longestLead: Duration = .milliseconds(500)

    /// The amount of media that is collected before the recorder is woken, while the recorder does not collect packets
    /// for a fragment. Waking a thread costs more than queueing a packet. If relay is killed, the recording also loses
    /// the collected frames, but these are only one or two.
    private static let batch: Duration = .milliseconds(50)
    /// The number of bytes at which the recorder is woken before the end of a fragment.
    private static let batchBytes = 1 << 20

    private let limit: Int
    /// The number of bytes that this queue can hold without taking memory from `budget`. Memory for all further bytes
    /// is taken from `budget`.
    private let own: Int
    private let budget: QueueBudget
    /// The track at whose keyframes the queue resumes after an overflow.
    private let leading: TrackKind
    private let state = Mutex(State())
    private let spaceAvailable = DispatchSemaphore(value: 0)

    /// Creates a queue of at most `limit` bytes. Memory for all bytes beyond the first `own` is taken from `budget`.
    init(limit: Int, leading: TrackKind = .video, own: Int = .max, budget: QueueBudget = QueueBudget()) {
        (self.limit, self.leading, self.own, self.budget) = (limit, leading, own, budget)
    }

    deinit { budget.give(state.withLock { $0.borrowed }) }

    /// Whether there is room for `size` more bytes. Takes these bytes from the budget if necessary.
    private func reserve(_ size: Int, _ state: inout State) -> Bool {
        guard state.bytes + size <= limit else { return false }
        let lacking = max(0, state.bytes + size - own) - state.borrowed
        guard lacking > 0 else { return true }
        guard budget.take(lacking) else { return false }
        state.borrowed += lacking
        return true
    }

    /// Gives memory that the queue no longer needs back to the budget.
    private func giveBack(_ state: inout State) {
        let surplus = state.borrowed - max(0, state.bytes - own)
        guard surplus > 0 else { return }
        budget.give(surplus)
        state.borrowed -= surplus
    }

    /// Appends `packet` or refuses it. Returns true if the caller should request a keyframe, because the queue has room
    /// again after an overflow.
    func push(_ packet: EncodedPacket) -> Bool {
        state.withLock { state in
            let size = packet.payload.count
            if var overflow = state.overflow {
                let isHalfFree = state.bytes <= overflow.rest
                guard packet.track == leading, packet.isKeyframe, isHalfFree, reserve(size, &state) else {
                    let asks = isHalfFree && !overflow.isKeyframeWanted
                    overflow.isKeyframeWanted = overflow.isKeyframeWanted || asks
                    state.refuse(packet, leading, &overflow)
                    state.overflow = overflow
                    return asks
                }
                state.items.append(overflow.end)
                (state.overflow, state.isUrgent) = (nil, true)
            } else if !reserve(size, &state) {
                state.items.append(.overflowBegan(bytes: state.bytes))
                var overflow = Overflow()
                overflow.rest = state.bytes / 2
                state.refuse(packet, leading, &overflow)
                (state.overflow, state.isUrgent) = (overflow, true)
                return false
            }
            state.items.append(.packet(packet))
            state.bytes += size
            state.newest = packet.programDts
            if state.oldest == nil { state.oldest = state.newest }
            if packet.track == leading, packet.isKeyframe { state.isUrgent = true }
            if let end = state.fragmentEnd {
                let patience = packet.track == leading ? .zero : SegmentFile.patience
                if packet.programDts >= end + patience { state.isUrgent = true }
            }
            return false
        }
    }

    /// Records that the recorder writes nothing before a packet of decoding time `time`, so that it need not be
    /// woken earlier. Nil means that the recorder does not collect packets for a fragment and must be woken soon.
    func collect(until time: ProgramInstant?) { state.withLock { $0.fragmentEnd = time } }

    /// Removes and returns the oldest item. Nil means that the queue is empty, which ends the scheduled drain.
    func pop() -> Item? {
        let (item, woken) = state.withLock { state -> (Item?, Int) in
            guard let item = state.items.popFirst() else {
                (state.isDrainScheduled, state.isUrgent) = (false, false)
                (state.oldest, state.taken) = (nil, state.newest)
                return (nil, takeWaiters(&state))
            }
            state.takenItems += 1
            if case .packet(let packet) = item {
                state.bytes -= packet.payload.count
                giveBack(&state)
                state.oldest = packet.programDts
            }
            return (item, takeWaiters(&state))
        }
        for _ in 0..<woken { spaceAvailable.signal() }
        return item
    }

    /// Returns how many waiting threads must be woken: all of them if there is room now, otherwise none.
    private func takeWaiters(_ state: inout State) -> Int {
        guard state.hasRoom(limit) else { return 0 }
        defer { state.waiters = 0 }
        return state.waiters
    }

    /// Waits for at most `interval` until half of the queue is free and the recorder is not far behind. Returns true if
    /// this was already the case, and false if it has waited.
    func waitForRoom(upTo interval: DispatchTimeInterval) -> Bool {
        let isFree = state.withLock { state in
            guard !state.hasRoom(limit) else { return true }
            state.waiters += 1
            return false
        }
        if isFree { return true }
        // If the signal comes right after the timeout, the next thread that waits is woken too early. This does no
        // harm, because that thread checks again.
        if spaceAvailable.wait(timeout: .now() + interval) == .timedOut {
            state.withLock { $0.waiters = max(0, $0.waiters - 1) }
        }
        return false
    }

    /// Records that packets have stopped arriving. Later packets begin a new file, even if the queue is emptied much
    /// later.
    func pause() {
        state.withLock { state in
            if case .pause = state.items.last { return }
            state.items.append(.pause)
            state.isUrgent = true
        }
    }

    /// Records that no packet follows, and ends an overflow that has not ended yet.
    func end() {
        state.withLock { state in
            guard let overflow = state.overflow else { return }
            state.items.append(overflow.end)
            state.overflow = nil
        }
    }

    /// Discards all queued items.
    func removeAll() {
        let woken = state.withLock { state in
            state.items.removeAll()
            state.bytes = 0
            giveBack(&state)
            state.oldest = nil
            return takeWaiters(&state)
        }
        for _ in 0..<woken { spaceAvailable.signal() }
    }

    /// Whether the queue contains enough media to be drained, or an urgent item.
    var isWorthDraining: Bool {
        state.withLock { state in
            guard !state.isDrainScheduled else { return false }
            guard !state.isUrgent, let oldest = state.oldest else { return state.isUrgent }
            guard state.fragmentEnd == nil else { return state.bytes >= Self.batchBytes }
            // If two packets of a slow track are further apart than a batch, each packet is worth a drain.
            let isSlow = state.taken.map { max(oldest, $0) - min(oldest, $0) >= Self.batch } ?? false
            return isSlow || state.newest - oldest >= Self.batch
        }
    }

    /// Whether the caller must schedule a drain: items are waiting and no drain is scheduled. If so, the drain counts
    /// as scheduled from now on.
    func beginDrain() -> Bool {
        state.withLock { state in
            guard !state.isDrainScheduled, !state.items.isEmpty else { return false }
            state.isDrainScheduled = true
            return true
        }
    }

    /// The number of items that the recorder has taken so far; nil if no item waits.
    var takenWhileWaiting: UInt64? { state.withLock { $0.items.isEmpty ? nil : $0.takenItems } }

    /// Refused frames that the recorder has not counted yet.
    var uncounted: Int { state.withLock { $0.uncounted } }

    /// Subtracts `frames` from ``uncounted``, because the recorder itself counts these refused frames from now on.
    func count(_ frames: Int) { state.withLock { $0.uncounted -= frames } }

    /// The payload in the queue in bytes, and its duration.
    var depth: (bytes: Int, milliseconds: Int64) {
        state.withLock { state in
            (state.bytes, state.oldest.map { max(0, (state.newest - $0).inMilliseconds) } ?? 0)
        }
    }
}
