// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import Media
internal import Synchronization

/// The recorder's queue: bounded in bytes. It never drops out of the middle; when it is full, it takes nothing until
/// half of it is free, and then goes on at a keyframe.
final class RecorderQueue: Sendable {
    enum Item: Sendable {
        case packet(EncodedPacket)
        /// From here on packets are missing.
        case overflowBegan
        /// So many pictures were refused; the last refused sound can be the hidden first packet of the next file.
        case overflowEnded(frames: Int, lastSound: EncodedPacket?)
    }

    private struct Overflow {
        var frames = 0
        var lastSound: EncodedPacket?
        var isKeyframeWanted = false
    }

    private struct State {
        var items = Deque<Item>()
        var bytes = 0
        var overflow: Overflow?
        var oldest: Int64?
        var newest: Int64 = 0
        var isDrainScheduled = false
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    /// Appends `packet` or refuses it; true if a keyframe should be asked for, because there is room again.
    func push(_ packet: EncodedPacket) -> Bool {
        state.withLock { state in
            let size = packet.payload.count
            if var overflow = state.overflow {
                guard packet.track == .video && packet.isKeyframe && state.bytes + size <= limit / 2 else {
                    let asks = state.bytes <= limit / 2 && !overflow.isKeyframeWanted
                    overflow.isKeyframeWanted = overflow.isKeyframeWanted || asks
                    if packet.track == .video { overflow.frames += 1 } else { overflow.lastSound = packet }
                    state.overflow = overflow
                    return asks
                }
                state.items.append(.overflowEnded(frames: overflow.frames, lastSound: overflow.lastSound))
                state.overflow = nil
            } else if state.bytes + size > limit {
                state.items.append(.overflowBegan)
                state.overflow = Overflow()
                if packet.track == .video { state.overflow?.frames = 1 } else { state.overflow?.lastSound = packet }
                return false
            }
            state.items.append(.packet(packet))
            state.bytes += size
            state.newest = packet.dtsNanoseconds
            if state.oldest == nil { state.oldest = state.newest }
            return false
        }
    }

    /// Takes the oldest item; nil also ends the scheduled drain.
    func pop() -> Item? {
        state.withLock { state in
            guard let item = state.items.popFirst() else {
                state.isDrainScheduled = false
                state.oldest = nil
                return nil
            }
            if case .packet(let packet) = item {
                state.bytes -= packet.payload.count
                state.oldest = packet.dtsNanoseconds
            }
            return item
        }
    }

    /// No packet follows: an overflow that lasts ends here.
    func end() {
        state.withLock { state in
            guard let overflow = state.overflow else { return }
            state.items.append(.overflowEnded(frames: overflow.frames, lastSound: overflow.lastSound))
            state.overflow = nil
        }
    }

    /// Forgets what waits.
    func removeAll() {
        state.withLock { state in
            state.items.removeAll()
            state.bytes = 0
            state.oldest = nil
        }
    }

    /// Whether the caller must schedule a drain: nothing is scheduled and something waits.
    func claimDrain() -> Bool {
        state.withLock { state in
            guard !state.isDrainScheduled, !state.items.isEmpty else { return false }
            state.isDrainScheduled = true
            return true
        }
    }

    /// Payload bytes and media time that wait.
    var depth: (bytes: Int, milliseconds: Int64) {
        state.withLock { state in
            (state.bytes, state.oldest.map { max(0, state.newest - $0) / 1_000_000 } ?? 0)
        }
    }
}
