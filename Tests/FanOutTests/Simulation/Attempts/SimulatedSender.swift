// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media

@testable import Publisher

/// The packets that a simulated attempt has taken from its queue, and the wire on which it sends them.
struct SimulatedSender {
    enum Wire {
        case stream(StreamWire)
        case recovering(RecoveringWire)
        case datagrams(DatagramWire)
        /// Every packet that is sent arrives at once.
        case direct
    }

    /// The latency of the receivers of `recovering`.
    static let latency = Duration.milliseconds(200)

    private(set) var wire: Wire
    /// The packets that were taken from the queue; those before the index `next` were sent.
    private(set) var (held, next): ([EncodedPacket], Int) = ([], 0)
    /// Whether the attempt waits for room in its socket.
    var isFull = false
    private var lastProgress = MonotonicInstant.zero
    /// The state of an attempt that sends lost messages again.
    var window = SRTSendWindow(latency: latency.inMilliseconds)
    var (isRetrying, isWatching) = (false, false)
    /// While the attempt ends: the time limit, and when the receiver will have output all messages; that is nil until
    /// the receiver has acknowledged all of them.
    var leaves: (limit: MonotonicInstant, played: MonotonicInstant?)?
    /// The state of an attempt that sends datagrams.
    var (pacing, spacing) = (UDPPacing(), FrameSpacing())
    /// The number of datagrams of the packet at the index `next` that were sent.
    private var datagramsSent = 0
    /// When the newest frame's first datagram was sent.
    var paced = MonotonicInstant.distantPast
    var isPaced = false

    init(_ transport: SimulatedAttempt.Transport, at now: MonotonicInstant) {
        wire =
            switch transport {
            case .stream: .stream(StreamWire(at: now))
            case .recovering: .recovering(RecoveringWire(latency: Self.latency, at: now))
            case .datagrams: .datagrams(DatagramWire())
            case .listener: .direct
            }
    }

    /// The number of frames that were taken from the queue and not sent.
    var unsentFrames: Int { held[next...].count { $0.track == .video } }

    /// The next packet to send.
    var first: EncodedPacket? { next < held.count ? held[next] : nil }

    /// Whether the peer has all packets that were taken from the queue, as far as the sender can know.
    var isEmpty: Bool {
        guard first == nil else { return false }
        return if case .stream(let wire) = wire { wire.isEmpty } else { true }
    }

    /// Whether a full socket has room again.
    var hasRoom: Bool {
        guard isFull, case .stream(let wire) = wire else { return false }
        return wire.bytes < StreamWire.room
    }

    /// The number of datagrams that were not sent.
    var datagrams: Int { held[next...].reduce(-datagramsSent) { $0 + DatagramWire.count(of: $1) } }

    mutating func begin(at now: MonotonicInstant) {
        lastProgress = now
        // The connection was opened before; nothing was sent on it.
        if case .recovering = wire { wire = .recovering(RecoveringWire(latency: Self.latency, at: now)) }
        if case .stream = wire { wire = .stream(StreamWire(at: now)) }
    }

    mutating func hold(_ packets: [EncodedPacket], at now: MonotonicInstant) {
        if first == nil { lastProgress = now }
        held.removeSubrange(..<next)
        next = 0
        held += packets
    }

    mutating func removeFirst(at now: MonotonicInstant) { (next, lastProgress) = (next + 1, now) }

    /// Writes the next packet to the socket of `connection`, which is nil if the packet arrives at once. Returns false
    /// if the socket has no room.
    mutating func write(on connection: Int?, to peer: SimulatedPeer, at now: MonotonicInstant) -> Bool {
        guard let first else { return true }
        if case .stream(var stream) = wire, let connection {
            guard stream.bytes < StreamWire.room else { return false }
            stream.send(first, on: connection, of: peer, at: now)
            wire = .stream(stream)
        }
        removeFirst(at: now)
        return true
    }

    /// Sends the next datagram. Returns the packet that this datagram completes; nil if it completes no packet.
    mutating func sendDatagram(to peer: SimulatedPeer, at now: MonotonicInstant) -> EncodedPacket? {
        guard let first, case .datagrams(var datagrams) = wire else { return nil }
        datagramsSent += 1
        let isLast = datagramsSent == DatagramWire.count(of: first)
        datagrams.send(first, isLast: isLast, to: peer, at: now)
        wire = .datagrams(datagrams)
        guard isLast else { return nil }
        datagramsSent = 0
        removeFirst(at: now)
        return first
    }

    /// Sends `packet`, or a probe if `packet` is nil, on a wire that sends lost messages again.
    mutating func transmit(
        _ packet: EncodedPacket?, on connection: Int, of peer: SimulatedPeer, at now: MonotonicInstant
    ) {
        guard case .recovering(var recovering) = wire else { return }
        recovering.send(packet, on: connection, of: peer, at: now)
        wire = .recovering(recovering)
    }

    /// The wire, if it sends lost messages again; nil for another kind of wire.
    var recovering: RecoveringWire? { if case .recovering(let wire) = wire { wire } else { nil } }

    /// Lets the network work until `now`. Returns the packets that the receiver outputs.
    mutating func arrived(at now: MonotonicInstant, from peer: SimulatedPeer, on connection: Int?) -> [EncodedPacket] {
        let packets: [EncodedPacket]
        switch (wire, connection) {
        case (.stream(var stream), let connection?):
            packets = stream.run(to: now, on: connection, of: peer)
            wire = .stream(stream)
        case (.recovering(var recovering), let connection?):
            packets = recovering.run(to: now, on: connection, of: peer)
            wire = .recovering(recovering)
        case (.datagrams(var datagrams), _):
            packets = datagrams.run(to: now)
            wire = .datagrams(datagrams)
        default: packets = []
        }
        return packets
    }

    /// Why the connection is lost; nil if it is not.
    func failure(at now: MonotonicInstant, of peer: SimulatedPeer, on connection: Int?) -> OutputFailure? {
        guard let connection else { return nil }
        let reason: String? =
            switch wire {
            case _ where peer.fate(of: connection, at: now) == .closed: "the server closed the connection"
            case .stream(let wire) where wire.hasTimedOut(at: now): "timed out"
            case .recovering(let wire) where wire.isBroken(at: now): "the receiver fell silent"
            case .stream where first != nil && now - lastProgress >= SimulatedAttempt.stallTimeout:
                "the peer stopped reading"
            default: nil
            }
        return reason.map { OutputFailure(.lost, step: "send", reason: $0) }
    }
}
