// SPDX-License-Identifier: Apache-2.0

import Media

/// A network that carries datagrams without a connection, like UDP. A datagram is lost, or arrives after a delay of its
/// own. The receiver drops what arrives after a later packet.
struct DatagramWire {
    /// The size of a datagram.
    static let bytes = 1316

    private struct Flight {
        let due: MonotonicInstant
        let number: Int
        let packet: EncodedPacket
    }

    private var flights: [Flight] = []
    private var sent = 0
    private var newest = -1
    /// When the last datagram of the packet that is being sent arrives; nil if one of its datagrams was lost.
    private var arrival: MonotonicInstant? = .distantPast

    /// The number of datagrams in which `packet` is sent.
    static func count(of packet: EncodedPacket) -> Int { max(1, (packet.payload.count + bytes - 1) / bytes) }

    /// Sends one datagram of `packet`. `isLast` means that it is the packet's last one.
    mutating func send(_ packet: EncodedPacket, isLast: Bool, to peer: SimulatedPeer, at now: MonotonicInstant) {
        let transit = peer.transit(of: Self.bytes, on: nil, at: now)
        arrival = arrival.flatMap { arrival in transit.map { max(arrival, now + $0) } }
        guard isLast else { return }
        if let arrival { flights.append(Flight(due: arrival, number: sent, packet: packet)) }
        (sent, arrival) = (sent + 1, .distantPast)
    }

    /// Returns the packets that the receiver takes until `now`.
    mutating func run(to now: MonotonicInstant) -> [EncodedPacket] {
        guard !flights.isEmpty else { return [] }
        let due = flights.filter { $0.due <= now }.sorted { ($0.due, $0.number) < ($1.due, $1.number) }
        flights.removeAll { $0.due <= now }
        var arrived: [EncodedPacket] = []
        for flight in due where flight.number > newest {
            newest = flight.number
            arrived.append(flight.packet)
        }
        return arrived
    }
}
