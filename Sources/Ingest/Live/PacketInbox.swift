// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
internal import Media
internal import SourceClock
internal import Synchronization

/// What a live source's packets wait in, with their places on the source's timeline, until the decoder takes them. The
/// source's feed puts in, on its own thread; the thread that decodes takes out.
final class PacketInbox: PacketSourceSink {
    /// What is taken out.
    enum Item {
        case packet(LivePacket)
        /// The sender is gone: what was taken is all of it.
        case interruption
        /// The input is open, or another sender begins: what was taken before has nothing to do with what follows.
        case opening(LiveOpening)
        /// Nothing follows, because of a failure or not.
        case end
    }

    private struct State {
        var items: [Item] = []
        var bytes = 0
        /// How the tracks are stamped that are known.
        var tracks: [TrackKind: TrackStamps]
        /// Whether everything before the interruption was decoded.
        var isDelivered = false
    }

    /// Bytes that may wait here (32 MiB). A feed that reads pauses beyond it; of one that cannot wait the rest is lost.
    /// With what waits to be decoded it is less than a track may keep, so that a playlist that was read ahead loses nothing.
    private static let byteLimit = CompressedQueue.byteLimit / 2

    /// The source's clock.
    let timing: SourceTiming
    private let wanted: Set<TrackKind>
    private let stampBits: Int?
    private let monitor: SourceMonitor
    private let state: Mutex<State>
    private let dataAvailable = DispatchSemaphore(value: 0)
    private let delivered = DispatchSemaphore(value: 0)

    /// An empty inbox for packets of the `wanted` tracks, which are placed with `timing`. Its clock knows of `tracks`; others
    /// of the wanted ones may come later. Their stamps have `stampBits` bits; nil if they do not wrap.
    init(
        _ wanted: Set<TrackKind>, known tracks: [TrackKind: TrackStamps], stampBits: Int?, timing: SourceTiming,
        monitor: SourceMonitor
    ) {
        (self.wanted, self.stampBits, self.timing, self.monitor) = (wanted, stampBits, timing, monitor)
        state = Mutex(State(tracks: tracks))
    }

    // MARK: Putting in

    /// Whether a feed that reads is to pause.
    var isFull: Bool { state.withLock { $0.bytes > Self.byteLimit } }

    /// Takes a packet that a client sent, in the sender's order and with the sender's stamps.
    func take(_ packet: EncodedPacket, at arrival: Timestamp) {
        guard wanted.contains(packet.track) else { return }
        declare(packet)
        let stamp = SourceClock.Stamp(packet.track, dts: packet.dts, pts: packet.pts, duration: packet.duration)
        guard !isFull, let noted = timing.note(stamp, arrival: arrival) else {
            return monitor.update { $0.decodeErrors += 1 }
        }
        put(.packet(LivePacket(content: .received(packet), time: noted.time, decodeTime: noted.decodeTime)))
    }

    /// Puts in what comes next.
    func put(_ item: Item) {
        state.withLock { state in
            state.items.append(item)
            switch item {
            case .packet(let packet): state.bytes += packet.size
            case .interruption: state.isDelivered = false
            case .opening, .end: break
            }
        }
        dataAvailable.signal()
    }

    /// Tells the source's clock of a track that the senders before did not have.
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

    func restart() {
        timing.restart(state.withLock { $0.tracks })
        put(.opening(LiveOpening(tracks: .any)))
    }

    func end(failure: String?) { put(.end) }

    /// Waits until everything before the interruption was decoded, or the source is stopped. What can never be placed is
    /// not waited for.
    func waitUntilDelivered() {
        while !monitor.isStopped, !state.withLock({ $0.isDelivered }) {
            _ = delivered.wait(timeout: .now() + .milliseconds(20))
        }
    }

    // MARK: Taking out

    /// Takes out everything, in order.
    func takeAll() -> [Item] {
        state.withLock { state in
            defer { (state.items, state.bytes) = ([], 0) }
            return state.items
        }
    }

    /// Says that everything before the interruption was decoded, unless more was put in since it was taken out.
    func markDelivered() {
        let isNew = state.withLock { state in
            guard state.items.isEmpty, !state.isDelivered else { return false }
            state.isDelivered = true
            return true
        }
        if isNew { delivered.signal() }
    }

    /// Waits until there is something to take, or for `timeout`.
    func wait(_ timeout: Duration) {
        _ = dataAvailable.wait(timeout: .now() + .nanoseconds(Int(timeout.inNanoseconds)))
    }
}

extension LivePacket {
    /// Bytes.
    fileprivate var size: Int {
        switch content {
        case .read(let box, _): box.size
        case .received(let packet): packet.payload.count
        }
    }
}
