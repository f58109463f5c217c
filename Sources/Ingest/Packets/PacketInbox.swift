// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import SourceClock
internal import Synchronization

/// What a source of packets hands on, with its place on the source's timeline, until a decoder takes it. The source puts
/// in, on its own thread, and never waits; one other thread takes out.
final class PacketInbox: PacketSourceSink {
    /// A packet with its times on the source's timeline.
    struct Placed {
        let packet: EncodedPacket
        let time: Timestamp
        let decodeTime: Timestamp
    }

    /// What is taken out.
    enum Item {
        case packet(Placed)
        /// The sender is gone: what was taken is all of it.
        case interruption
        /// A sender begins again: nothing that was taken before has to do with what follows.
        case restart
        /// Nothing follows, because of a failure or not.
        case end(failure: String?)
    }

    private struct State {
        var items: [Item] = []
        var bytes = 0
        /// How the tracks are stamped that are known.
        var tracks: [TrackKind: (timeBase: TimeBase, bits: Int?)]
    }

    /// More than decoders let wait; what is beyond it is lost.
    private static let byteLimit = 64 << 20

    private let wanted: Set<TrackKind>
    private let stampBits: Int?
    private let timing: SourceTiming
    private let monitor: SourceMonitor
    private let state: Mutex<State>
    private let news = DispatchSemaphore(value: 0)

    /// An empty inbox for packets of the `wanted` tracks, which are noted with `timing`. Its clock knows of `tracks`; others
    /// of the wanted ones may come later. Their stamps have `stampBits` bits; nil if they do not wrap.
    init(
        _ wanted: Set<TrackKind>, known tracks: [TrackKind: (timeBase: TimeBase, bits: Int?)], stampBits: Int?,
        timing: SourceTiming, monitor: SourceMonitor
    ) {
        self.wanted = wanted
        self.stampBits = stampBits
        self.timing = timing
        self.monitor = monitor
        state = Mutex(State(tracks: tracks))
    }

    func take(_ packet: EncodedPacket, at arrival: Timestamp) {
        guard wanted.contains(packet.track) else { return }
        declare(packet)
        let stamp = SourceClock.Stamp(packet.track, dts: packet.dts, pts: packet.pts, duration: packet.duration)
        guard let noted = timing.note(stamp, arrival: arrival) else {
            return monitor.update { $0.decodeErrors += 1 }
        }
        let isTaken = state.withLock { state in
            guard state.bytes <= Self.byteLimit else { return false }
            state.items.append(
                .packet(Placed(packet: packet, time: noted.time, decodeTime: noted.decodeTime)))
            state.bytes += packet.payload.count
            return true
        }
        if !isTaken { monitor.update { $0.decodeErrors += 1 } }
        news.signal()
    }

    /// Tells the source's clock of a track that the senders before did not have.
    private func declare(_ packet: EncodedPacket) {
        let isNew = state.withLock { state in
            guard state.tracks[packet.track] == nil else { return false }
            state.tracks[packet.track] = (packet.timeBase, stampBits)
            return true
        }
        if isNew { timing.declare(packet.track, packet.timeBase, bits: stampBits) }
    }

    func interrupt() { put(.interruption) }

    func restart() {
        timing.restart(state.withLock { $0.tracks })
        put(.restart)
    }

    func end(failure: String?) { put(.end(failure: failure)) }

    private func put(_ item: Item) {
        state.withLock { $0.items.append(item) }
        news.signal()
    }

    /// Takes out everything, in order.
    func takeAll() -> [Item] {
        state.withLock { state in
            defer { (state.items, state.bytes) = ([], 0) }
            return state.items
        }
    }

    /// Waits until there is something to take, or for `timeout`.
    func wait(_ timeout: Duration) { _ = news.wait(timeout: .now() + .nanoseconds(Int(timeout.inNanoseconds))) }
}
