// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media
import Synchronization

/// An attempt of a simulation. It connects, sends and ends by the same rules as real attempts: it takes packets from
/// its queue only while its socket has room, gives up a connection after 10 s, and gives up a peer that stops reading
/// after 13 s. It never reports while its output calls it.
final class SimulatedAttempt: OutputAttempt, PacketServer {
    /// How the attempt sends its packets.
    enum Transport: Sendable, CaseIterable {
        /// Over a connection, like RTMP.
        case stream
        /// Without a connection, like UDP.
        case datagrams
        /// To a receiver that connects to the output.
        case listener
    }

    fileprivate enum Phase { case idle, connecting, accepted, live, draining, over }

    fileprivate struct State {
        var phase = Phase.idle
        var connection: Int?
        var began = MonotonicInstant.zero
        /// The packets that were taken from the queue; those before the index `next` were sent.
        var (held, next): ([EncodedPacket], Int) = ([], 0)
        /// The number of bytes in the socket.
        var socketBytes = 0.0
        var (lastPump, lastProgress) = (MonotonicInstant.zero, MonotonicInstant.zero)
        var taken = 0
        var progress = AttemptProgress()
        var check = WireCheck()
        var hasCaller = false
        var callerNeedsKeyframe = false
        /// Whether the attempt must end, although no receiver ever connected to it.
        var endsUnheard = false
    }

    /// How long a peer may take to accept the stream.
    static let acceptTimeout = Duration.seconds(10)
    /// How long a peer may take to read the next byte.
    static let stallTimeout = Duration.seconds(13)
    private static let socketRoom = 32_000.0
    private static let batchBytes = 16_000
    /// The interval at which an unanswered connection is tried again.
    private static let patience = Duration.milliseconds(250)

    private let name: String
    private let transport: Transport
    private let peer: SimulatedPeer
    private let queue: PacketQueue
    private let context: SimulationContext
    private let record: SentRecord
    private let report: @Sendable (AttemptEvent) -> Void
    private let state = Mutex(State())

    init(
        name: String, transport: Transport, peer: SimulatedPeer, queue: PacketQueue, context: SimulationContext,
        record: SentRecord, report: @escaping @Sendable (AttemptEvent) -> Void
    ) {
        (self.name, self.transport, self.peer, self.queue) = (name, transport, peer, queue)
        (self.context, self.record, self.report) = (context, record, report)
    }

    var server: any PacketServer { self }

    /// The number of packets taken from the queue.
    var taken: Int { state.withLock { $0.taken } }

    var isOver: Bool { state.withLock { $0.phase == .over } }

    /// When the attempt began to connect.
    var began: MonotonicInstant { state.withLock { $0.began } }

    /// Whether the attempt's connection will never pass a byte again.
    var isDead: Bool {
        guard let connection = state.withLock({ $0.connection }) else { return false }
        return peer.fate(of: connection, at: context.clock.now) != .open
    }

    var progress: AttemptProgress {
        state.withLock { state in
            var progress = state.progress
            progress.waitingFrames = state.unsentFrames
            return progress
        }
    }

    func start() {
        let now = context.clock.now
        state.withLock { ($0.phase, $0.began) = (.connecting, now) }
        report(.step("connect"))
        schedule(at: now + (transport == .stream ? peer.delay(at: now) : .zero)) { $0.listenForAnswer() }
        guard transport == .stream else { return }
        schedule(at: now + Self.acceptTimeout) { attempt in
            guard attempt.state.withLock({ $0.phase == .connecting }) else { return }
            attempt.end(.failed(OutputFailure(.unreachable, step: "connect", reason: "no answer")))
        }
    }

    func goLive() {
        let now = context.clock.now
        state.withLock { state in
            guard state.phase == .accepted else { return }
            (state.phase, state.lastPump, state.lastProgress) = (.live, now, now)
            pump(&state, at: now)
        }
    }

    func wake() {
        let now = context.clock.now
        state.withLock { pump(&$0, at: now) }
    }

    func drain(until deadline: MonotonicInstant, reason: EndReason) {
        state.withLock { state in
            if state.phase == .live { state.phase = .draining }
            if state.phase == .connecting, transport == .listener { state.endsUnheard = true }
        }
    }

    func abandon() { _ = close(countsUnsent: false) }
}

// MARK: Connecting

extension SimulatedAttempt {
    private func schedule(at time: MonotonicInstant, _ work: @escaping @Sendable (SimulatedAttempt) -> Void) {
        context.clock.schedule(at: time) { [weak self] in if let self { work(self) } }
    }

    private func listenForAnswer() {
        guard state.withLock({ $0.phase == .connecting }) else { return }
        let now = context.clock.now
        switch transport {
        case .datagrams: accept(nil)
        case .listener: report(.awaitsCallers)
        case .stream:
            switch peer.answer(at: now) {
            case .nothing: schedule(at: now + Self.patience) { $0.listenForAnswer() }
            case .accepted(let connection): accept(connection)
            case .failed(let failure): end(.failed(failure))
            }
        }
    }

    private func accept(_ connection: Int?) {
        state.withLock { ($0.phase, $0.connection) = (.accepted, connection) }
        report(.accepted)
    }

    /// Connects a receiver, or disconnects the receiver that is connected.
    func callOrLeave() {
        guard transport == .listener else { return }
        let events = state.withLock { state -> [AttemptEvent] in
            switch state.phase {
            case .connecting where !state.endsUnheard: state.phase = .accepted
            case .live: break
            default: return []
            }
            state.hasCaller.toggle()
            defer { state.callerNeedsKeyframe = state.hasCaller && context.program.leading == .video }
            guard state.hasCaller else {
                return state.callerNeedsKeyframe ? [.awaitsCallers, .wantsNoKeyframe] : [.awaitsCallers]
            }
            state.check = WireCheck()
            return context.program.leading == .video ? [.accepted, .wantsKeyframe] : [.accepted]
        }
        for event in events { report(event) }
    }

    /// Makes the server ask the output to publish again, at `address` if it is not nil.
    func askToReconnect(at address: String?) {
        guard transport == .stream, state.withLock({ $0.phase == .live }) else { return }
        report(.reconnectRequested(address: address))
    }
}

// MARK: Sending and ending

extension SimulatedAttempt {
    /// Sends what the network has room for, and checks the connection.
    func tick() {
        let now = context.clock.now
        let event = state.withLock { state -> AttemptEvent? in
            if state.endsUnheard, state.phase == .connecting { return .drained }
            guard state.phase == .live || state.phase == .draining else { return nil }
            pump(&state, at: now)
            if let failure = failure(of: state, at: now) { return .failed(failure) }
            let isAll = state.held.isEmpty && state.socketBytes == 0 && queue.isEmpty
            return state.phase == .draining && isAll ? .drained : nil
        }
        if let event { end(event) }
    }

    private func failure(of state: State, at now: MonotonicInstant) -> OutputFailure? {
        guard let connection = state.connection else { return nil }
        if peer.fate(of: connection, at: now) == .closed {
            return OutputFailure(.lost, step: "send", reason: "the server closed the connection")
        }
        guard !state.held.isEmpty, now - state.lastProgress >= Self.stallTimeout else { return nil }
        return OutputFailure(.lost, step: "send", reason: "the peer stopped reading")
    }

    private func pump(_ state: inout State, at now: MonotonicInstant) {
        guard state.phase == .live || state.phase == .draining else { return }
        if let connection = state.connection {
            let passed = peer.passedBytes(on: connection, from: state.lastPump, to: now)
            state.socketBytes = max(0, state.socketBytes - passed)
        }
        state.lastPump = now
        while true {
            while state.next < state.held.count {
                guard state.socketBytes < Self.socketRoom else { return }
                send(state.held[state.next], &state, at: now)
                state.next += 1
            }
            state.held.removeAll(keepingCapacity: true)
            (state.next, state.lastProgress) = (0, now)
            _ = queue.pop(upTo: Self.batchBytes, into: &state.held)
            guard !state.held.isEmpty else { return }
            state.taken += state.held.count
        }
    }

    private func send(_ packet: EncodedPacket, _ state: inout State, at now: MonotonicInstant) {
        guard isHeard(packet, &state) else { return record.note(unheard: packet) }
        if transport == .stream { state.socketBytes += Double(packet.payload.count) }
        state.lastProgress = now
        state.progress.bytes += UInt64(packet.payload.count)
        if packet.track == .video { state.progress.frames += 1 }
        if let fault = state.check.fault(of: packet, in: context.program) {
            context.faults.add(fault, of: name, at: now)
        }
        if !record.note(packet, at: now) {
            context.faults.add("a packet of \(packet.dtsNanoseconds) ns is sent twice", of: name, at: now)
        }
    }

    /// Whether a receiver gets `packet`. A receiver that connects begins at a keyframe.
    private func isHeard(_ packet: EncodedPacket, _ state: inout State) -> Bool {
        guard transport == .listener else { return true }
        if packet.track == .video, packet.isKeyframe { state.callerNeedsKeyframe = false }
        return state.hasCaller && !state.callerNeedsKeyframe
    }

    private func end(_ event: AttemptEvent) {
        if close(countsUnsent: true) { report(event) }
    }

    /// Ends the attempt. Returns false if the attempt was already over. With `countsUnsent`, frames that were not sent
    /// are counted as dropped here. Otherwise the output counts them, by the progress that it has read before.
    private func close(countsUnsent: Bool) -> Bool {
        let (wasOpen, connection) = state.withLock { state -> (Bool, Int?) in
            let wasOpen = state.phase != .over
            if wasOpen, countsUnsent { state.progress.drops.add(.notConnected, frames: state.unsentFrames) }
            (state.phase, state.held, state.next) = (.over, [], 0)
            return (wasOpen, state.connection)
        }
        if wasOpen, let connection { peer.leave(connection) }
        return wasOpen
    }
}

extension SimulatedAttempt.State {
    /// The number of frames that were taken from the queue and not sent.
    fileprivate var unsentFrames: Int { held[next...].count { $0.track == .video } }
}
