// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import Media
internal import RTMP
internal import Synchronization

/// Serves the players that pull a stream which relay offers, until the output ends or pauses.
///
/// Each player is a consumer of the program's packets, with its own queue and connection, so a slow player does not
/// delay the others. A player begins with the current GOP. The packets in the output's own queue are discarded: that
/// queue only shows that the program is running.
actor RTMPListenAttempt: ServingAttempt {
    private enum Phase { case idle, listening, live, draining, closed }

    /// How often relay checks whether players' queues have dropped packets.
    private static let dropsInterval = Duration.seconds(1)

    private let offer: RTMPOffer
    private let stream: PacketStream
    private let pool: RTMPWriterPool
    nonisolated let context: AttemptContext
    private let totals = ReceiverTotals(.players)

    private var phase = Phase.idle
    private var seats: [RTMPPlayerOutput] = []
    /// The log of dropped packets of each player, by the player's number.
    private var drops: [Int: DropLog] = [:]
    /// True after ``goLive()`` was called. The output's queue may be read only then.
    private var mayServe = false
    /// Whether a player needed a keyframe when this was last reported.
    private var needsKeyframe = false

    init(offer: RTMPOffer, pool: RTMPWriterPool, stream: PacketStream, context: consuming AttemptContext) {
        self.offer = offer
        self.pool = pool
        self.stream = stream
        self.context = context
    }

    nonisolated func goLive() {
        post { attempt in
            attempt.mayServe = true
            attempt.serve()
        }
    }

    nonisolated func drain(until deadline: MonotonicInstant, reason: EndReason) { post { $0.drain() } }

    nonisolated var progress: AttemptProgress { totals.progress }

    /// Discards the packets in the output's queue. The players get their packets directly from the program's stream.
    func serve() {
        guard mayServe else { return }
        while packets.pop() != nil {}
        reportKeyframeNeed()
    }

    /// Reports with each frame how urgently the players need a keyframe: once for all players, so that many players
    /// cause no more keyframes than one. The output decides when to request one. Reports also when no player needs a
    /// keyframe any more.
    private func reportKeyframeNeed() {
        guard phase == .live else { return }
        let need = seats.lazy.map(\.keyframeNeed).max() ?? .absent
        defer { needsKeyframe = need != .absent }
        switch need {
        case .absent: if needsKeyframe { report.tell(.wantsNoKeyframe) }
        case .usual: report.tell(.wantsKeyframe)
        case .urgent: report.tell(.needsKeyframe)
        }
    }
}

// MARK: Adding and removing players

extension RTMPListenAttempt {
    func begin() {
        guard phase == .idle, !report.isOver else { return }
        do throws(OutputFailure) {
            try offer.open()
        } catch {
            return fail(error)
        }
        phase = .listening
        report.tell(.step("listening"))
        offer.serve(self) { [weak self] player in self?.post { $0.join(player) } }
        report.tell(.awaitsCallers)
        checkDrops()
    }

    /// Adds a player with its own queue, which begins at a keyframe.
    private func join(_ player: RTMPPlayer) {
        guard phase == .listening || phase == .live else { return }
        let description = stream.description
        let carriage = player.request.capabilities.isEnhanced ? Carriage.enhancedRTMP : .rtmp
        if let reason = carriage.refusal(of: description) {
            totals.countRefusal()
            return report.tell(.notice("a player at \(player.address) was sent away: \(reason)"))
        }
        let number = totals.nextNumber()
        let queue = PacketQueue(limits: packets.limits, isFromStart: false, leading: description.leadingKind)
        let writer = pool.next()
        let connection = RTMPConnection(
            to: .player("player \(number) at \(player.address)"), socket: player.socket, handover: player.handover,
            writer: writer, packets: queue, description: description, carriage: carriage, clock: clock,
            report: AttemptReport(clock: clock) { [weak self] event in self?.post { $0.note(event, of: number) } })
        let seat = RTMPPlayerOutput(
            number: number, player: player, packets: queue, connection: connection, writer: writer)
        seats.append(seat)
        totals.add(seat)
        stream.join(seat)
        connection.goLive()
        report.tell(.notice("player \(number) at \(player.address) joined; \(seats.count) on air"))
        phase = .live
        if seats.count == 1 { report.tell(.accepted) }
    }

    private func note(_ event: AttemptEvent, of number: Int) {
        switch event {
        case .failed(let failure): left(number, " (\(failure.reason))")
        case .drained: left(number, "")
        default: break
        }
    }

    private func left(_ number: Int, _ reason: String) {
        guard let index = seats.firstIndex(where: { $0.number == number }) else { return }
        let seat = seats.remove(at: index)
        noteDrops(of: seat)
        drops[number] = nil
        remove(seat)
        report.tell(.notice("player \(number) left\(reason); \(seats.count) on air"))
        reportKeyframeNeed()
        if seats.isEmpty, phase == .live { report.tell(.awaitsCallers) }
        endIfDrained()
    }

    private func remove(_ seat: RTMPPlayerOutput) {
        stream.remove(seat)
        totals.remove(seat)
    }
}

// MARK: Logging drops and ending the streams

extension RTMPListenAttempt {
    private func checkDrops() {
        guard phase != .closed else { return }
        for seat in seats { noteDrops(of: seat) }
        post(after: Self.dropsInterval) { $0.checkDrops() }
    }

    /// Logs when a player's queue begins to drop packets, and when it has stopped dropping them.
    private func noteDrops(of seat: RTMPPlayerOutput) {
        let counts = seat.packets.drops
        var log = drops[seat.number] ?? DropLog()
        if drops[seat.number] == nil { _ = log.join(DropCounts()) }
        let event = log.note(counts, at: clock.now)
        drops[seat.number] = log
        switch event {
        case .began(let drops):
            report.tell(
                .notice(
                    "player \(seat.number) takes less than the program makes: frames are dropped (\(drops.summary))"))
        case .over(let drops):
            report.tell(.notice("player \(seat.number): no frame is dropped any more; \(drops.frames) were"))
        case .cut, nil: break
        }
    }

    /// Ends the streams of all players. If a player has just joined and ``goLive()`` was not called yet, does nothing;
    /// the supervisor calls ``drain(until:reason:)`` again after ``goLive()``.
    private func drain() {
        offer.endServing(self)
        guard phase == .live else {
            guard phase == .idle || phase == .listening else { return }
            return drained()
        }
        guard mayServe else { return }
        phase = .draining
        // From now on, this output does not keep another one from using the port. If this output was removed, its offer
        // is closed by now. If it was paused, no other output can take its place.
        report.tell(.stoppedListening)
        for seat in seats { seat.connection.drain() }
        endIfDrained()
    }

    private func endIfDrained() {
        if phase == .draining, seats.isEmpty { drained() }
    }

    func close() {
        phase = .closed
        offer.endServing(self)
        for seat in seats {
            remove(seat)
            seat.connection.abandon()
        }
        seats = []
    }
}

/// One player, with its queue of packets from the program's stream and its connection.
final class RTMPPlayerOutput: PacketConsumer, CountedReceiver {
    /// How urgently a player needs a keyframe.
    enum KeyframeNeed: Comparable {
        /// The player gets every frame, or its queue has no room for a keyframe.
        case absent
        /// The player can begin or continue only at a keyframe.
        case usual
        /// The player's video is frozen until a keyframe comes.
        case urgent
    }

    /// The player's number in the log. The first player has the number 1.
    let number: Int
    let packets: PacketQueue
    let connection: RTMPConnection
    private let writer: RTMPWriter
    /// The server's object for the player. It is kept because it occupies one of the server's limited places for
    /// players.
    private let player: RTMPPlayer
    private let hasBegun = Atomic(false)

    init(number: Int, player: RTMPPlayer, packets: PacketQueue, connection: RTMPConnection, writer: RTMPWriter) {
        self.number = number
        self.player = player
        self.packets = packets
        self.connection = connection
        self.writer = writer
        // The queue must count as connected before its first packet, which may be an old keyframe, is added.
        _ = packets.connected()
    }

    var progress: AttemptProgress { connection.progress }

    /// How urgently the player needs a keyframe. While the player does not read, a keyframe would only wait.
    var keyframeNeed: KeyframeNeed {
        guard packets.needsKeyframe else { return .absent }
        return packets.standsStill ? .urgent : .usual
    }

    /// The player's IP address.
    var address: String { player.address }

    func accept(_ packets: [EncodedPacket]) -> (any PacketServer)? {
        if hasBegun.exchange(true, ordering: .relaxed) {
            for packet in packets { self.packets.push(packet) }
        } else {
            self.packets.join(with: packets)
        }
        return writer
    }
}
