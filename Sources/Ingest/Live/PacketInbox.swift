// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
internal import Media
internal import SourceClock
internal import Synchronization

/// The queue of a live source's packets between its feed and its decoder; the packets have their times on the source's
/// timeline. The feed adds packets on its own thread; the decoding thread removes them.
final class PacketInbox: PacketSourceSink {
    /// An entry of the queue.
    enum Item {
        case packet(LivePacket)
        /// The sender has disconnected: no further packets of this sender follow.
        case interruption
        /// The input was opened, or another sender begins: the packets before this entry are unrelated to those after
        /// it.
        case opening(LiveOpening)
        /// The source has ended, with or without a failure: no entry follows.
        case end
    }

    private struct State {
        var items: [Item] = []
        var bytes = 0
        /// The time base and number of bits of each known track's timestamps.
        var tracks: [TrackKind: TrackStamps]
        /// Whether all packets before the newest interruption were decoded; true before the first interruption.
        var isDelivered = true
        /// Whether the decoder has taken the newest interruption from the queue.
        var isTaken = false
        /// Whether the next packet of a client is the first one of another sender.
        var isRestarted = false
    }

    /// The maximum number of bytes in the inbox (32 MiB). Above this limit, a feed that reads from a server pauses, and
    /// the packets of a feed that cannot pause are dropped. ``SourceDecoder`` pauses at another 16 MiB. The sum of both
    /// limits is less than ``CompressedQueue/usualByteLimit``, so that no packet of a playlist that was read ahead is
    /// dropped.
    private static let byteLimit = CompressedQueue.usualByteLimit / 2

    /// The source's clock.
    let timing: SourceTiming
    private let wanted: Set<TrackKind>
    private let stampBits: Int?
    private let monitor: SourceMonitor
    private let state: Mutex<State>
    private let dataAvailable = DispatchSemaphore(value: 0)
    private let delivered = DispatchSemaphore(value: 0)

    /// Creates an empty inbox for packets of the `wanted` tracks. `timing` computes the packets' due times, and already
    /// knows the `tracks`. Other wanted tracks can appear later; their timestamps have `stampBits` bits, or do not wrap
    /// if `stampBits` is nil.
    init(
        _ wanted: Set<TrackKind>, known tracks: [TrackKind: TrackStamps], stampBits: Int?, timing: SourceTiming,
        monitor: SourceMonitor
    ) {
        (self.wanted, self.stampBits, self.timing, self.monitor) = (wanted, stampBits, timing, monitor)
        state = Mutex(State(tracks: tracks))
    }

    // MARK: The feed's side

    /// Whether a feed that can pause must pause reading.
    var isFull: Bool { state.withLock { $0.bytes > Self.byteLimit } }

    /// Receives a packet from a client, in the sender's order and with the sender's timestamps.
    func take(_ packet: EncodedPacket, at arrival: MonotonicInstant) {
        guard wanted.contains(packet.track) else { return }
        declare(packet)
        let stamp = SourceClock.Stamp(packet.track, dts: packet.dts, pts: packet.pts, duration: packet.duration)
        if takeRestart() {
            reopen(LiveOpening(tracks: .any), of: state.withLock { $0.tracks }, with: stamp, at: arrival)
        }
        guard !isFull, let noted = timing.note(stamp, arrival: arrival) else {
            return monitor.update { $0.decodeErrors += 1 }
        }
        put(.packet(LivePacket(content: .received(packet), time: noted.time, decodeTime: noted.decodeTime)))
    }

    /// Appends an entry to the queue.
    func put(_ item: Item) {
        state.withLock { state in
            state.items.append(item)
            switch item {
            case .packet(let packet): state.bytes += packet.size
            case .interruption: (state.isDelivered, state.isTaken) = (false, false)
            case .opening, .end: break
            }
        }
        dataAvailable.signal()
    }

    /// Declares the packet's track to the source's clock, if earlier senders did not have this track.
    private func declare(_ packet: EncodedPacket) {
        let stamps: TrackStamps = (packet.timeBase, stampBits)
        let isNew = state.withLock { state in
            guard state.tracks[packet.track] == nil else { return false }
            state.tracks[packet.track] = stamps
            return true
        }
        if isNew { timing.declare(packet.track, stamps.timeBase, bits: stamps.bits) }
    }

    func interrupt() { put(.interruption) }

    func restart() { state.withLock { $0.isRestarted = true } }

    private func takeRestart() -> Bool {
        state.withLock { state in
            defer { state.isRestarted = false }
            return state.isRestarted
        }
    }

    /// Appends the `opening` of an input that was opened again, or of another sender, with these `tracks`. Its first
    /// packet has the timestamps `stamp` and arrived at `arrival`. The packets before the break are still decoded if the break was
    /// short. Otherwise, calls `leave` and restarts the clock, with new `settings` unless they are nil.
    func reopen(
        _ opening: LiveOpening, of tracks: [TrackKind: TrackStamps], with stamp: SourceClock.Stamp,
        at arrival: MonotonicInstant, as settings: SourceClockSettings? = nil, leave: () -> Void = {}
    ) {
        var opening = opening
        let reconnection = timing.reconnect(with: stamp, at: arrival)
        (opening.continues, opening.mayRepeat) = (reconnection != .restart, reconnection == .sameTimestamps)
        if !opening.continues {
            leave()
            timing.restart(tracks, as: settings)
        }
        put(.opening(opening))
    }

    func end(failure: String?) { put(.end) }

    /// Blocks until the decoder has taken the newest interruption from the queue, or until the source is stopped.
    func waitUntilTaken() {
        while !monitor.isStopped, !state.withLock({ $0.isTaken }) {
            _ = delivered.wait(timeout: .now() + .milliseconds(20))
        }
    }

    /// Blocks until all packets before the newest interruption are decoded, or until the source is stopped. Does not
    /// wait for packets whose due time will never be known.
    func waitUntilDelivered() {
        while !monitor.isStopped, !state.withLock({ $0.isDelivered }) {
            _ = delivered.wait(timeout: .now() + .milliseconds(20))
        }
    }

    /// Whether packets before the newest interruption are still waiting to be decoded, as far as the decoder knows.
    var isPlayingOut: Bool { state.withLock { !$0.isDelivered } }

    // MARK: The decoder's side

    /// Removes all entries and returns them in order.
    func takeAll() -> [Item] {
        state.withLock { state in
            defer { (state.items, state.bytes) = ([], 0) }
            return state.items
        }
    }

    /// Reports that the decoder has taken the newest interruption, unless another one is in the queue by now.
    func markTaken() {
        state.withLock { state in
            state.isTaken = !state.items.contains { if case .interruption = $0 { true } else { false } }
        }
        delivered.signal()
    }

    /// Reports that all packets before the newest interruption are decoded.
    func markDelivered() {
        let isNew = state.withLock { state in
            guard state.items.isEmpty, !state.isDelivered else { return false }
            (state.isDelivered, state.isTaken) = (true, true)
            return true
        }
        if isNew { delivered.signal() }
    }

    /// Blocks until the feed has added an entry, or for `timeout`.
    func wait(_ timeout: Duration) {
        _ = dataAvailable.wait(timeout: .now() + .nanoseconds(Int(timeout.inNanoseconds)))
    }
}

extension LivePacket {
    /// The size of the compressed packet in bytes.
    var size: Int {
        switch content {
        case .read(let box, _): box.size
        case .received(let packet): packet.payload.count
        }
    }
}
