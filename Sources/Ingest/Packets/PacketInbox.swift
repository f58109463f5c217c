// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
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
        /// A sender begins anew: nothing that was taken before has to do with what follows.
        case restart
        /// Nothing follows, because of a failure or not.
        case end(failure: String?)
    }

    private struct State {
        var items: [Item] = []
        var bytes = 0
    }

    /// More than decoders let wait; what is beyond it is lost.
    private static let byteLimit = 64 << 20

    private let timing: SourceTiming
    /// How the packets that are wanted are stamped.
    private let tracks: [TrackKind: (timeBase: TimeBase, bits: Int?)]
    private let monitor: SourceMonitor
    private let state = Mutex(State())
    private let news = DispatchSemaphore(value: 0)

    /// An empty inbox for packets of `tracks`, whose stamps are noted with `timing`.
    init(
        _ tracks: [TrackKind: (timeBase: TimeBase, bits: Int?)], timing: SourceTiming, monitor: SourceMonitor
    ) {
        self.tracks = tracks
        self.timing = timing
        self.monitor = monitor
    }

    func take(_ packet: EncodedPacket, at arrival: Timestamp) {
        guard tracks[packet.track] != nil else { return }
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

    func interrupt() { put(.interruption) }

    func restart() {
        timing.restart(tracks)
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
            defer { state = State() }
            return state.items
        }
    }

    /// Waits until there is something to take, or for `timeout`.
    func wait(_ timeout: Duration) { _ = news.wait(timeout: .now() + .nanoseconds(Int(timeout.inNanoseconds))) }
}
