// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import Dispatch
internal import Media
internal import Synchronization

/// The recorder's queue: bounded in bytes. It never drops out of the middle; when it is full, it takes nothing until
/// half of it is free, and then continues at a keyframe.
final class RecorderQueue: Sendable {
    enum Item: Sendable {
        case packet(EncodedPacket)
        /// Nothing comes for now.
        case pause
        /// From here on packets are missing.
        case overflowBegan
        /// This many frames were refused, the earliest of them shown at `from`, in nanoseconds; the last refused audio
        /// can be the hidden first packet of the next file.
        case overflowEnded(frames: Int, from: Int64?, lastAudio: EncodedPacket?)
    }

    private struct Overflow {
        var frames = 0
        var lastAudio: EncodedPacket?
        var isKeyframeWanted = false
        var from: Int64?

        mutating func refuse(_ packet: EncodedPacket, leading: TrackKind) {
            if packet.track == .audio { lastAudio = packet }
            guard packet.track == leading else { return }
            if packet.track == .video { frames += 1 }
            from = min(from ?? .max, packet.ptsNanoseconds)
        }

        var end: Item { .overflowEnded(frames: frames, from: from, lastAudio: lastAudio) }
    }

    private struct State {
        var items = Deque<Item>()
        var bytes = 0
        var overflow: Overflow?
        /// Frames that were refused and that the recorder has not counted itself.
        var uncounted = 0
        var oldest: Int64?
        var newest: Int64 = 0
        /// The newest packet that was taken with all others, by its decoding time in nanoseconds.
        var taken: Int64?
        var isDrainScheduled = false
        /// Whether what waits holds something that is not to wait: where a file may begin, or that packets are missing.
        var isUrgent = false
        /// Threads in ``waitForRoom(upTo:)``.
        var waiters = 0

        mutating func refuse(_ packet: EncodedPacket, _ leading: TrackKind, _ overflow: inout Overflow) {
            let before = overflow.frames
            overflow.refuse(packet, leading: leading)
            uncounted += overflow.frames - before
        }

        /// Whether a program that no clock paces may continue.
        func hasRoom(_ limit: Int) -> Bool {
            bytes <= limit / 2 && (oldest.map { newest - $0 } ?? 0) <= RecorderQueue.longestLead
        }
    }

    /// How far a program that no clock paces may be ahead of its recorder, in nanoseconds: the end of a file is asked
    /// for when the file begins, and must be known before the encoder has come that far.
    private static let longestLead: Int64 = 500_000_000

    /// Media that waits to be taken together, in nanoseconds: waking a thread costs more than queueing a packet. What is
    /// shorter than a frame or two is no loss to a recording that a kill cuts off.
    private static let batch: Int64 = 50_000_000

    private let limit: Int
    /// The track at whose keyframes the queue continues after an overflow.
    private let leading: TrackKind
    private let state = Mutex(State())
    private let room = DispatchSemaphore(value: 0)

    init(limit: Int, leading: TrackKind = .video) { (self.limit, self.leading) = (limit, leading) }

    /// Appends `packet` or refuses it; true if a keyframe should be asked for, because there is room again.
    func push(_ packet: EncodedPacket) -> Bool {
        state.withLock { state in
            let size = packet.payload.count
            if var overflow = state.overflow {
                guard packet.track == leading && packet.isKeyframe && state.bytes + size <= limit / 2 else {
                    let asks = state.bytes <= limit / 2 && !overflow.isKeyframeWanted
                    overflow.isKeyframeWanted = overflow.isKeyframeWanted || asks
                    state.refuse(packet, leading, &overflow)
                    state.overflow = overflow
                    return asks
                }
                state.items.append(overflow.end)
                (state.overflow, state.isUrgent) = (nil, true)
            } else if state.bytes + size > limit {
                state.items.append(.overflowBegan)
                var overflow = Overflow()
                state.refuse(packet, leading, &overflow)
                (state.overflow, state.isUrgent) = (overflow, true)
                return false
            }
            state.items.append(.packet(packet))
            state.bytes += size
            state.newest = packet.dtsNanoseconds
            if state.oldest == nil { state.oldest = state.newest }
            if packet.track == leading, packet.isKeyframe { state.isUrgent = true }
            return false
        }
    }

    /// Takes the oldest item; nil also ends the scheduled drain.
    func pop() -> Item? {
        let (item, woken) = state.withLock { state -> (Item?, Int) in
            guard let item = state.items.popFirst() else {
                (state.isDrainScheduled, state.isUrgent) = (false, false)
                (state.oldest, state.taken) = (nil, state.newest)
                return (nil, takeWaiters(&state))
            }
            if case .packet(let packet) = item {
                state.bytes -= packet.payload.count
                state.oldest = packet.dtsNanoseconds
            }
            return (item, takeWaiters(&state))
        }
        for _ in 0..<woken { room.signal() }
        return item
    }

    /// How many threads are to be woken, because there is room.
    private func takeWaiters(_ state: inout State) -> Int {
        guard state.hasRoom(limit) else { return 0 }
        defer { state.waiters = 0 }
        return state.waiters
    }

    /// Waits until half of the queue is free and the recorder is close behind, or for `interval`; true if so.
    func waitForRoom(upTo interval: DispatchTimeInterval) -> Bool {
        let isFree = state.withLock { state in
            guard !state.hasRoom(limit) else { return true }
            state.waiters += 1
            return false
        }
        if isFree { return true }
        // A signal that comes right after the timeout wakes the next waiter too early; that thread looks again.
        if room.wait(timeout: .now() + interval) == .timedOut {
            state.withLock { $0.waiters = max(0, $0.waiters - 1) }
        }
        return false
    }

    /// Nothing comes for now: what follows is another stretch, however late all of it is taken out.
    func pause() {
        state.withLock { state in
            if case .pause = state.items.last { return }
            state.items.append(.pause)
            state.isUrgent = true
        }
    }

    /// No packet follows: an overflow that lasts ends here.
    func end() {
        state.withLock { state in
            guard let overflow = state.overflow else { return }
            state.items.append(overflow.end)
            state.overflow = nil
        }
    }

    /// Forgets what waits.
    func removeAll() {
        let woken = state.withLock { state in
            state.items.removeAll()
            state.bytes = 0
            state.oldest = nil
            return takeWaiters(&state)
        }
        for _ in 0..<woken { room.signal() }
    }

    /// Whether what waits is enough to be taken, or not to be kept waiting.
    var isWorthDraining: Bool {
        state.withLock { state in
            guard !state.isDrainScheduled else { return false }
            guard !state.isUrgent, let oldest = state.oldest else { return state.isUrgent }
            // Each packet of a slow track is a batch.
            let isSlow = state.taken.map { (oldest - $0).magnitude >= UInt64(Self.batch) } ?? false
            return isSlow || state.newest - oldest >= Self.batch
        }
    }

    /// Whether the caller must schedule a drain: nothing is scheduled and something waits.
    func beginDrain() -> Bool {
        state.withLock { state in
            guard !state.isDrainScheduled, !state.items.isEmpty else { return false }
            state.isDrainScheduled = true
            return true
        }
    }

    /// Frames that were refused and that the recorder has not counted itself.
    var uncounted: Int { state.withLock { $0.uncounted } }

    /// The recorder counts so many of the refused frames itself from now on.
    func count(_ frames: Int) { state.withLock { $0.uncounted -= frames } }

    /// Payload bytes and media time that wait.
    var depth: (bytes: Int, milliseconds: Int64) {
        state.withLock { state in
            (state.bytes, state.oldest.map { max(0, state.newest - $0) / 1_000_000 } ?? 0)
        }
    }
}
