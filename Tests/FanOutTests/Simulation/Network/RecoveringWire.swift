// SPDX-License-Identifier: Apache-2.0

import Media

/// A connection like SRT, with both of its ends. The receiver reports missing messages, and the sender sends them
/// again. The receiver outputs each message `latency` after the message was sent. It leaves out a message that is still
/// missing when a later one is due.
struct RecoveringWire {
    private struct Message {
        /// The packet; nil for a probe, which decoders ignore.
        let packet: EncodedPacket?
        let origin: MonotonicInstant
    }

    private enum Content {
        case message(Int)
        /// The receiver needs no message before this one: it has received them, or does not wait for them any more.
        case acknowledgement(Int)
        case report(missing: [Int])
    }

    /// The interval at which the receiver acknowledges what it has, and reports what is missing.
    private static let interval = Duration.milliseconds(10)
    /// A missing message is reported again after this time.
    private static let reportInterval = Duration.milliseconds(60)
    /// The size of a message from the receiver, and of a probe.
    private static let smallBytes = 188
    /// If the sender hears nothing for this time, the connection is broken (`SRTO_PEERIDLETIMEO`).
    private static let silence = Duration.seconds(5)

    private let latency: Duration
    private var messages: [Int: Message] = [:]
    /// The number of the next new message, and of the oldest one that is not acknowledged.
    private var (next, oldest) = (0, 0)
    /// Both ends have finished with all messages before this one.
    private var kept = 0
    /// The sum of the loss reports that have come.
    private(set) var reports: Int64 = 0
    private var lastHeard: MonotonicInstant
    private var flights: [(due: MonotonicInstant, content: Content)] = []
    /// The receiver has output all messages before this one, or has left them out.
    private var output = 0
    /// The messages that the receiver has and has not output yet.
    private var held: Set<Int> = []
    private var highest = -1
    private var reported: [Int: MonotonicInstant] = [:]
    private var tick: MonotonicInstant

    init(latency: Duration, at now: MonotonicInstant) {
        (self.latency, lastHeard, tick) = (latency, now, now)
    }

    /// Whether all messages are acknowledged.
    var isAcknowledged: Bool { oldest == next }

    /// The age of the oldest message that is not acknowledged, in milliseconds; nil if all are.
    func age(at now: MonotonicInstant) -> Int64? { messages[oldest].map { (now - $0.origin).inMilliseconds } }

    /// Whether the sender finds the connection broken at `now`.
    func isBroken(at now: MonotonicInstant) -> Bool { now - lastHeard > Self.silence }

    /// Sends `packet`, or a probe if `packet` is nil.
    mutating func send(_ packet: EncodedPacket?, on connection: Int, of peer: SimulatedPeer, at now: MonotonicInstant) {
        messages[next] = Message(packet: packet, origin: now)
        transmit(next, connection, peer, now)
        next += 1
    }

    /// Lets the network and the receiver work until `now`. Returns the packets that the receiver outputs.
    mutating func run(to now: MonotonicInstant, on connection: Int, of peer: SimulatedPeer) -> [EncodedPacket] {
        var packets: [EncodedPacket] = []
        while tick <= now {
            arrive(connection, peer)
            packets += play()
            answer(connection, peer)
            tick += Self.interval
        }
        while kept < min(oldest, output) {
            messages[kept] = nil
            kept += 1
        }
        return packets
    }

    private mutating func transmit(
        _ number: Int, _ connection: Int, _ peer: SimulatedPeer, _ now: MonotonicInstant
    ) {
        guard let message = messages[number] else { return }
        let bytes = message.packet?.payload.count ?? Self.smallBytes
        guard let transit = peer.transit(of: bytes, on: connection, at: now) else { return }
        flights.append((now + transit, .message(number)))
    }

    private mutating func arrive(_ connection: Int, _ peer: SimulatedPeer) {
        let due = flights.filter { $0.due <= tick }
        guard !due.isEmpty else { return }
        flights.removeAll { $0.due <= tick }
        for flight in due {
            switch flight.content {
            case .message(let number):
                if number >= output { held.insert(number) }
                highest = max(highest, number)
            case .acknowledgement(let number):
                lastHeard = flight.due
                oldest = max(oldest, number)
            case .report(let missing):
                (lastHeard, reports) = (flight.due, reports + 1)
                for number in missing where number >= oldest { transmit(number, connection, peer, tick) }
            }
        }
    }

    private mutating func play() -> [EncodedPacket] {
        var packets: [EncodedPacket] = []
        while let number = held.min(), let message = messages[number],
            tick >= message.origin + latency + SimulatedPeer.usualTransit
        {
            held.remove(number)
            output = number + 1
            if let packet = message.packet { packets.append(packet) }
        }
        return packets
    }

    private mutating func answer(_ connection: Int, _ peer: SimulatedPeer) {
        var first = output
        while held.contains(first) { first += 1 }
        var missing: [Int] = []
        if first <= highest {
            missing = (first...highest).filter { number in
                !held.contains(number) && reported[number].map { tick - $0 >= Self.reportInterval } ?? true
            }
        }
        reported = reported.filter { $0.key >= first }
        for number in missing { reported[number] = tick }
        if !missing.isEmpty { reply(.report(missing: missing), connection, peer) }
        reply(.acknowledgement(first), connection, peer)
    }

    private mutating func reply(_ content: Content, _ connection: Int, _ peer: SimulatedPeer) {
        guard let transit = peer.transit(of: Self.smallBytes, on: connection, at: tick) else { return }
        flights.append((tick + transit, content))
    }
}
