// SPDX-License-Identifier: Apache-2.0

import Media

/// The socket and the network of a connection like TCP. All bytes arrive in order: a segment that was lost delays all
/// that follows until it was sent again.
struct StreamWire {
    /// The number of bytes that the socket holds.
    static let room = 32_000.0
    /// The first wait before a lost segment is sent again. Each further wait is twice as long, up to the longest, which
    /// relay sets (`TCP_RTO_MAX_MS`).
    private static let firstWait = Duration.milliseconds(200)
    private static let longestWait = Duration.seconds(1)
    /// After this time without an acknowledgement, the kernel ends the connection (`TCP_USER_TIMEOUT`).
    private static let timeout = Duration.seconds(12)

    private struct Segment {
        let packet: EncodedPacket
        var bytes: Double
    }

    private var socket = [Segment]()
    private var underWay = [(due: MonotonicInstant, packet: EncodedPacket)]()
    /// The number of bytes in the socket.
    private(set) var bytes = 0.0
    /// The time up to which the network has passed bytes.
    private var passed: MonotonicInstant
    /// The first segment in the socket was lost at `since`, and is sent again at `next`.
    private var loss: (since: MonotonicInstant, next: MonotonicInstant, wait: Duration)?

    init(at now: MonotonicInstant) { passed = now }

    /// Whether the peer has all bytes.
    var isEmpty: Bool { socket.isEmpty && underWay.isEmpty }

    /// Whether the kernel has ended the connection at `now`.
    func hasTimedOut(at now: MonotonicInstant) -> Bool { loss.map { now - $0.since > Self.timeout } ?? false }

    mutating func send(
        _ packet: EncodedPacket, on connection: Int, of peer: SimulatedPeer, at now: MonotonicInstant
    ) {
        socket.append(Segment(packet: packet, bytes: Double(packet.payload.count)))
        bytes += Double(packet.payload.count)
        if loss == nil, !peer.passesSegment(on: connection, at: now) { lose(at: now) }
    }

    /// Lets the network pass bytes until `now`. Returns the packets that have arrived.
    mutating func run(
        to now: MonotonicInstant, on connection: Int, of peer: SimulatedPeer
    ) -> [EncodedPacket] {
        while let lost = loss, lost.next <= now {
            if peer.passesSegment(on: connection, at: lost.next) {
                (loss, passed) = (nil, max(passed, lost.next))
            } else {
                let wait = min(lost.wait * 2, Self.longestWait)
                loss = (lost.since, lost.next + wait, wait)
            }
        }
        if loss == nil { pass(peer.passedBytes(on: connection, from: passed, to: now), peer, at: now) }
        passed = now
        var arrived: [EncodedPacket] = []
        while let first = underWay.first, first.due <= now {
            arrived.append(first.packet)
            underWay.removeFirst()
        }
        return arrived
    }

    private mutating func lose(at now: MonotonicInstant) { loss = (now, now + Self.firstWait, Self.firstWait) }

    private mutating func pass(_ count: Double, _ peer: SimulatedPeer, at now: MonotonicInstant) {
        var count = count
        while count > 0, !socket.isEmpty {
            let part = min(count, socket[0].bytes)
            socket[0].bytes -= part
            (count, bytes) = (count - part, bytes - part)
            guard socket[0].bytes <= 0 else { return }
            let due = max(now + peer.transit(at: now), underWay.last?.due ?? now)
            underWay.append((due, socket.removeFirst().packet))
        }
        if socket.isEmpty { bytes = 0 }
    }
}
