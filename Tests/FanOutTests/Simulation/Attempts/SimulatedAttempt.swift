// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media
import Synchronization

@testable import Publisher

/// An attempt of a simulation. It uses those parts of relay that need no socket: the context, the report that ends
/// once, the wake-ups, the send window of SRT and the pacing of UDP. The other parts are simulated by the same rules as
/// in real attempts: the attempt takes packets from its queue only while its socket has room, gives up a connection
/// after 10 s, and gives up a peer that stops reading after 13 s.
actor SimulatedAttempt: ServingAttempt {
    /// How the attempt sends its packets.
    enum Transport: Sendable, CaseIterable {
        /// Over a connection, like RTMP.
        case stream
        /// Over a connection that loses messages and sends them again, like SRT.
        case recovering
        /// Without a connection, like UDP.
        case datagrams
        /// To a receiver that connects to the output.
        case listener

        /// Whether a server must accept the stream.
        var connects: Bool { self == .stream || self == .recovering }
    }

    enum Phase { case idle, connecting, accepted, live, draining, leaving, closed }

    /// What the simulation reads on its own thread.
    struct Shared {
        var began = MonotonicInstant.zero
        var connection: Int?
        var isOver = false
        /// The number of packets taken from the queue.
        var taken = 0
        var progress = AttemptProgress()
    }

    /// How long a peer may take to accept the stream.
    static let acceptTimeout = Duration.seconds(10)
    /// How long a peer may take to read the next byte.
    static let stallTimeout = Duration.seconds(13)
    /// The interval at which an unanswered connection is tried again.
    private static let patience = Duration.milliseconds(250)

    nonisolated let context: AttemptContext
    private let name: String
    nonisolated let transport: Transport
    let peer: SimulatedPeer
    let simulation: SimulationContext
    private let record: SentRecord
    private nonisolated let shared = Mutex(Shared())

    var phase = Phase.idle
    var connection: Int?
    var sender: SimulatedSender
    private var check = WireCheck()
    private var decoder = SimulatedDecoder()
    private var hasCaller = false
    private var callerNeedsKeyframe = false

    init(
        name: String, transport: Transport, peer: SimulatedPeer, simulation: SimulationContext, record: SentRecord,
        context: consuming AttemptContext
    ) {
        (self.name, self.transport, self.peer) = (name, transport, peer)
        (self.simulation, self.record) = (simulation, record)
        sender = SimulatedSender(transport, at: simulation.clock.now)
        self.context = context
    }

    nonisolated var server: any PacketServer { transport == .stream ? simulation.writer : self }

    nonisolated var progress: AttemptProgress { shared.withLock { $0.progress } }

    /// The number of packets taken from the queue.
    nonisolated var taken: Int { shared.withLock { $0.taken } }

    nonisolated var isOver: Bool { shared.withLock { $0.isOver } }

    /// When the attempt began to connect.
    nonisolated var began: MonotonicInstant { shared.withLock { $0.began } }

    /// Whether the attempt's connection will never pass a byte again.
    nonisolated var isDead: Bool {
        guard let connection = shared.withLock({ $0.connection }) else { return false }
        return peer.fate(of: connection, at: simulation.clock.now) != .open
    }

    nonisolated func goLive() { post { $0.becomeLive() } }

    nonisolated func drain(until deadline: MonotonicInstant, reason: EndReason) { post { $0.beginToDrain() } }

    private func becomeLive() {
        guard phase == .accepted else { return }
        phase = .live
        sender.begin(at: clock.now)
        if transport == .stream { simulation.writer.add(self) }
        serve()
    }

    private func beginToDrain() {
        if phase == .connecting, transport == .listener { return drained() }
        guard phase == .live else { return }
        phase = .draining
        serve()
    }

    func close() {
        guard phase != .closed else { return }
        phase = .closed
        simulation.writer.remove(self)
        let unsent = sender.unsentFrames
        shared.withLock { shared in
            shared.progress.waitingFrames = 0
            shared.progress.drops.add(.notConnected, frames: unsent)
            shared.isOver = true
        }
        if let connection { peer.leave(connection) }
    }
}

// MARK: Connecting

extension SimulatedAttempt {
    /// Does `work` on the attempt's queue at `time`. The attempt is kept until then.
    nonisolated func schedule(
        at time: MonotonicInstant, _ work: @escaping @Sendable (isolated SimulatedAttempt) -> Void
    ) {
        simulation.clock.schedule(at: time) { self.post(work) }
    }

    func begin() {
        guard phase == .idle, !report.isOver else { return }
        phase = .connecting
        let now = clock.now
        shared.withLock { $0.began = now }
        report.tell(.step("connect"))
        switch transport {
        case .datagrams: schedule(at: now) { $0.accept(nil) }
        case .listener: report.tell(.awaitsCallers)
        case .stream, .recovering:
            schedule(at: now + peer.delay(at: now) / 2) { $0.call() }
            schedule(at: now + Self.acceptTimeout) { attempt in
                guard attempt.phase == .connecting else { return }
                attempt.fail(OutputFailure(.unreachable, step: "connect", reason: "no answer"))
            }
        }
    }

    /// The server's answer to the call comes later, when the attempt may be over.
    private func call() {
        guard phase == .connecting else { return }
        let now = clock.now
        let answer = peer.answer(at: now)
        if case .nothing = answer { return schedule(at: now + Self.patience) { $0.call() } }
        schedule(at: now + peer.delay(at: now) / 2 + peer.transit(at: now)) { $0.answered(answer) }
    }

    private func answered(_ answer: SimulatedPeer.Reply) {
        switch answer {
        case .nothing: break
        case .accepted(let connection):
            // The server is told if the attempt was given up before its answer came.
            if phase == .connecting { accept(connection) } else { peer.leave(connection) }
        case .failed(let failure): if phase == .connecting { fail(failure) }
        }
    }

    private func accept(_ connection: Int?) {
        guard phase == .connecting else { return }
        (phase, self.connection) = (.accepted, connection)
        shared.withLock { $0.connection = connection }
        report.tell(.accepted)
    }

    /// Connects a receiver, or disconnects the receiver that is connected.
    func callOrLeave() {
        guard transport == .listener else { return }
        switch phase {
        case .connecting: phase = .accepted
        case .live: break
        default: return
        }
        hasCaller.toggle()
        let needsKeyframe = hasCaller && simulation.program.leading == .video
        defer { callerNeedsKeyframe = needsKeyframe }
        guard hasCaller else {
            report.tell(.awaitsCallers)
            return callerNeedsKeyframe ? report.tell(.wantsNoKeyframe) : ()
        }
        check = WireCheck()
        report.tell(.accepted)
        if needsKeyframe { report.tell(.wantsKeyframe) }
    }

    /// Makes the server ask the output to publish again, at `address` if it is not nil.
    func askToReconnect(at address: String?) {
        if transport == .stream, phase == .live { report.tell(.reconnectRequested(address: address)) }
    }
}

// MARK: Sending

extension SimulatedAttempt {
    var isSending: Bool { phase == .live || phase == .draining }

    /// Sends the packets in the queue, unless the socket is full. Then sending continues when the socket has room.
    func serve() {
        guard isSending else { return }
        switch transport {
        case .stream: if !sender.isFull { pump() }
        case .recovering: service()
        case .datagrams: serveDatagrams()
        case .listener: pump()
        }
    }

    /// Called when the attempt's socket or a timer wakes it: receives, sends, and checks the connection.
    func tick() {
        guard phase != .closed else { return }
        let now = clock.now
        for packet in sender.arrived(at: now, from: peer, on: connection) { receive(packet) }
        guard isSending || phase == .leaving else { return }
        if let failure = sender.failure(at: now, of: peer, on: connection) { return fail(failure) }
        if transport == .stream, sender.hasRoom { pump() }
        if transport == .datagrams, phase == .draining { serveDatagrams() }
        if phase == .draining, transport != .recovering, packets.isEmpty, sender.isEmpty { drained() }
    }

    /// Takes packets of at least `bytes` bytes from the queue, or all packets if they have fewer bytes. Returns them.
    func take(_ bytes: Int) -> [EncodedPacket] {
        var taken: [EncodedPacket] = []
        _ = packets.pop(upTo: bytes, into: &taken)
        let frames = sender.unsentFrames + taken.count { $0.track == .video }
        shared.withLock { shared in
            shared.taken += taken.count
            shared.progress.waitingFrames = frames
        }
        return taken
    }

    /// Records that `packet` went out.
    func sent(_ packet: EncodedPacket) {
        let now = clock.now
        let isHeard = isHeard(packet)
        let waiting = sender.unsentFrames
        shared.withLock { shared in
            shared.progress.waitingFrames = waiting
            guard isHeard else { return }
            shared.progress.bytes += UInt64(packet.payload.count)
            if packet.track == .video { shared.progress.frames += 1 }
        }
        guard isHeard else { return record.note(unheard: packet) }
        if let text = check.fault(of: packet, in: simulation.program) { fault(text) }
        if !record.note(packet, at: now) { fault("a packet of \(packet.dtsNanoseconds) ns is sent twice") }
        if transport == .listener { receive(packet) }
    }

    /// Records that the peer got `packet`.
    func receive(_ packet: EncodedPacket) {
        if decoder.shows(packet, of: simulation.program) { record.note(shown: packet, at: clock.now) }
    }

    func fault(_ text: String) { simulation.faults.add(text, of: name, at: clock.now) }

    /// Whether a receiver gets `packet`. A receiver that connects begins at a keyframe.
    private func isHeard(_ packet: EncodedPacket) -> Bool {
        guard transport == .listener else { return true }
        if packet.track == .video, packet.isKeyframe { callerNeedsKeyframe = false }
        return hasCaller && !callerNeedsKeyframe
    }
}
