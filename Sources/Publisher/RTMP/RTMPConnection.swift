// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import Glibc
internal import Media
internal import Networking
internal import RTMP
internal import Synchronization

/// An RTMP connection to a server or to a player. It takes packets from a queue and writes them to a socket without
/// blocking.
///
/// It runs on the queue of its ``RTMPWriter``, which it shares with other connections.
actor RTMPConnection: QueueActor {
    private enum Phase { case attached, live, draining, leaving, closed }

    /// The connection takes packets from its queue only while fewer bytes than this wait to be sent. The other packets
    /// stay in the queue, where the drop policy counts them.
    private static let lowWaterBytes = 64 << 10
    /// The time without progress after which the connection counts as lost. The buffers take one or two seconds to
    /// fill, so a dead peer is detected within 15 s.
    static let stallTimeout = Duration.seconds(13)
    /// The maximum wait for the peer to close the connection after the end of the stream was sent. The wait is longer
    /// as long as the peer has not acknowledged all data.
    private static let teardownTimeout = Duration.milliseconds(300)
    private static let teardownInterval = Duration.milliseconds(20)
    private static let measurementInterval = Duration.seconds(1)

    // These properties are used for each frame and come first, so that they share cache lines. With hundreds of
    // connections most of the time is spent on loading memory.
    private var phase = Phase.attached
    private var isWriteArmed = false
    private var owesReplies = false
    /// The socket. It is closed when its last reference is released at the end of the connection.
    private var socket: TCPSocket?
    private let packets: PacketQueue
    private let writer: RTMPWriter
    private let clock: any MonotonicClock
    private var outbound: OutboundBuffer
    private var lastProgress = MonotonicInstant.distantPast
    /// When the round-trip time is measured next.
    private var nextMeasurement = MonotonicInstant.distantPast
    private var timeline = RTMPTimeline()
    private var chunks: RTMPChunkWriter
    /// The tracks whose codec configurations were sent to the peer.
    private var streams: StreamDescription
    private let sent = Mutex(AttemptProgress())

    private let carriage: Carriage
    private let peer: RTMPPeer
    private var playback: RTMPPlayback
    private let report: AttemptReport
    private var inbound: RTMPBackChannel
    private var watcher: DescriptorWatcher?
    /// The number of the descriptor watch that reports when the socket is ready.
    private var watch: UInt64?
    private var isWatching = false
    private var leftAt = MonotonicInstant.distantPast
    private var wasAskedToReconnect = false

    /// Creates a connection that owns `socket` from now on. It writes its headers when it goes live.
    init(
        to peer: RTMPPeer, socket: TCPSocket, handover: RTMPSession.Handover, writer: RTMPWriter, packets: PacketQueue,
        description: StreamDescription, carriage: Carriage = .rtmp, clock: any MonotonicClock = SystemClock(),
        report: AttemptReport
    ) {
        self.peer = peer
        playback = RTMPPlayback(leading: description.leadingKind)
        self.socket = socket
        self.writer = writer
        self.packets = packets
        self.clock = clock
        self.report = report
        inbound = RTMPBackChannel(handover: handover)
        var (chunks, outbound) = (RTMPChunkWriter(streamID: handover.streamID), OutboundBuffer())
        let headers = RTMPHeaders.messages(for: description, isForPlayer: peer.isPlayer)
        for message in headers { chunks.append(message, to: &outbound) }
        (self.chunks, self.outbound) = (chunks, outbound)
        streams = description
        self.carriage = carriage
    }

    nonisolated var executor: QueueExecutor { writer.executor }

    /// The totals of bytes and frames that this connection has sent so far.
    nonisolated var progress: AttemptProgress { sent.withLock { $0 } }

    /// Starts to send the packets in the queue. May be called on any thread.
    nonisolated func goLive() { post { $0.begin() } }

    /// Sends all packets in the queue, then ends the stream. May be called on any thread.
    nonisolated func drain() { post { $0.beginToDrain() } }

    /// Ends the connection at once with a TCP reset. May be called on any thread.
    nonisolated func abandon() { post { $0.close(reset: true) } }

    /// Sends packets from the queue; the writer calls this when it was woken at `now`. If the socket is full, sending
    /// continues when the socket has room.
    func serve(now: MonotonicInstant) {
        if phase == .live || phase == .draining, !isWriteArmed { service(now: now) }
    }
}

extension RTMPConnection {
    private func beginToDrain() {
        if phase == .attached { begin() }
        guard phase == .live else { return }
        phase = .draining
        service()
    }

    private func begin() {
        guard phase == .attached, let socket else { return }
        phase = .live
        socket.setNonBlocking()
        writer.add(self)
        lastProgress = clock.now
        // The watch's closure keeps this connection in memory until the watch ends.
        watcher = writer.watcher
        watch = watcher?.add(socket.descriptor) { readiness in
            self.post { $0.ready(readiness) }
        }
        guard watch != nil else { return fail("\(peer): the connection cannot be watched: out of descriptors") }
        arm()
        take(inbound.unread(), isFirst: true)
        service()
    }

    /// Sends packets until the queue is empty or the socket is full.
    private func service() { service(now: clock.now) }

    private func service(now: MonotonicInstant) {
        guard phase != .closed, let socket else { return }
        if outbound.isEmpty { lastProgress = now }
        if now >= nextMeasurement { measure(socket, now: now) }
        switch writer.shared.withLock({ shared in pump(into: socket, &shared, now: now) }) {
        case .wouldBlock: awaitRoom()
        case .failed(let code): fail("sending to \(peer): \(socket.reason(code))")
        case .closed: break
        case .bytes:
            endAwaitingRoom()
            if phase == .draining { leave() }
        }
    }

    private func measure(_ socket: TCPSocket, now: MonotonicInstant) {
        nextMeasurement = now + Self.measurementInterval
        guard let roundTrip = socket.roundTripMicroseconds else { return }
        sent.withLock { $0.details.connectionRoundTrip = Double(roundTrip) / 1000 }
    }

    /// Writes to the socket for ``service(now:)``. Returns `.bytes` if everything was sent.
    private func pump(into socket: TCPSocket, _ shared: inout RTMPWriter.Shared, now: MonotonicInstant)
        -> TCPSocket.Outcome
    {
        // A connection that has nothing left to send writes into the writer's shared buffer, which is still in the CPU
        // cache.
        if outbound.isEmpty { swap(&outbound, &shared.outbound) }
        defer { if outbound.isEmpty { swap(&outbound, &shared.outbound) } }
        var (bytes, frames) = (0, 0)
        defer {
            let waiting = outbound.pendingFrames
            sent.withLock { sent in
                (sent.bytes, sent.frames) = (sent.bytes + UInt64(bytes), sent.frames + UInt64(frames))
                sent.waitingFrames = waiting
            }
        }
        var isAll = false
        while !isAll || !outbound.isEmpty {
            isAll = fill(&shared)
            if outbound.isEmpty { continue }
            let outcome = socket.send(outbound)
            guard case .bytes(let count) = outcome else { return outcome }
            bytes += count
            frames += outbound.consume(count)
            lastProgress = now
        }
        return .bytes(bytes)
    }

    /// Takes packets from the queue until there are enough bytes to send. Returns false if the queue may still have
    /// packets for this connection.
    private func fill(_ shared: inout RTMPWriter.Shared) -> Bool {
        guard phase == .live || phase == .draining else { return true }
        let room = Self.lowWaterBytes - outbound.pendingBytes
        guard room > 0 else { return false }
        if owesReplies { appendReplies() }
        let isAll = packets.pop(upTo: room, into: &shared.batch)
        defer { shared.batch.removeAll(keepingCapacity: true) }
        if !playback.isWhole { shared.batch.removeAll { !playback.takes($0) } }
        // Chunks that connections share contain no codec headers. They can be used only if all tracks in `batch` were
        // announced to this peer already.
        let isAnnounced = shared.batch.allSatisfy { $0.track != .data && streams.holds($0) }
        if isAll, isAnnounced, chunks.append(shared.batch, on: &timeline, sharing: &shared.bursts, to: &outbound) {
            return true
        }
        for (index, packet) in shared.batch.enumerated() where carries(packet) {
            guard streams.holds(packet) || announce(packet) else {
                countUnsent(shared.batch[index...].count { $0.track == .video })
                return true
            }
            chunks.append(timeline.message(for: packet), to: &outbound)
        }
        return isAll
    }

    /// Whether `packet` is sent on this connection. Timed data other than AMF0 data and text marks is not sent, and a
    /// text mark is not sent before the first audio or video packet.
    private func carries(_ packet: EncodedPacket) -> Bool {
        guard packet.track == .data else { return true }
        let codec = packet.description.codec
        return codec == .amf0 || codec == .text && timeline.hasBegun
    }

    /// Sends the track's new codec configuration, which applies from `packet` on. Returns false if the peer does not
    /// support the codec; the connection then ends.
    private func announce(_ packet: EncodedPacket) -> Bool {
        streams = streams.updated(by: packet)
        guard packet.track != .data else { return true }
        if let reason = carriage.refusal(of: streams) {
            fail("\(peer): \(reason)", kind: .refused)
            return false
        }
        let headers = RTMPHeaders.messages(
            of: packet.description, in: streams, at: timeline.timestamp(of: packet), isForPlayer: peer.isPlayer)
        for message in headers {
            chunks.append(message, to: &outbound)
        }
        return true
    }

    /// Adds pending replies to the peer, such as ping responses, before the next packets.
    private func appendReplies() {
        for message in inbound.takeReplies() { chunks.append(message, to: &outbound) }
        owesReplies = false
    }

    private func send(_ messages: [RTMPMessage]) {
        guard phase != .closed, !messages.isEmpty else { return }
        for message in messages { chunks.append(message, to: &outbound) }
        service()
    }

    private func fail(_ reason: String, kind: OutputFailure.Kind = .lost) {
        guard phase != .closed else { return }
        let text = peer.masking(reason)
        close(reset: true)
        report.end(.failed(OutputFailure(kind, step: "send", reason: text)))
    }

    private func close(reset: Bool) {
        guard phase != .closed else { return }
        phase = .closed
        writer.remove(self)
        if reset { socket?.resetOnClose() }
        if let watch, let socket { watcher?.remove(watch, socket.descriptor) }
        (watcher, watch, socket) = (nil, nil, nil)
        countUnsent(outbound.pendingFrames)
        outbound = OutboundBuffer()
    }

    /// Counts `frames`, which were taken from the queue and will not be sent any more, as dropped. After this no frames
    /// wait.
    private func countUnsent(_ frames: Int) {
        sent.withLock { sent in
            sent.waitingFrames = 0
            sent.drops.add(.notConnected, frames: frames)
        }
    }
}

extension RTMPConnection {
    private func awaitRoom() {
        watchForStall()
        guard !isWriteArmed else { return }
        isWriteArmed = true
        arm()
    }

    private func endAwaitingRoom() {
        guard isWriteArmed else { return }
        isWriteArmed = false
        arm()
    }

    private func arm() {
        guard let watch, let socket else { return }
        watcher?.arm(watch, socket.descriptor, for: isWriteArmed ? [.read, .write] : .read)
    }

    /// Continues sending or receiving because the socket is ready. The descriptor watch reports one event, and must be
    /// armed again.
    private func ready(_ readiness: DescriptorWatcher.Readiness) {
        if readiness.contains(.read) { readable() }
        if readiness.contains(.write), isWriteArmed { service() }
        arm()
    }

    /// Ends the connection if the peer reads nothing for too long. `TCP_USER_TIMEOUT` does not detect a program that
    /// hangs while its kernel still acknowledges data.
    private func watchForStall() {
        guard !isWatching, phase != .closed else { return }
        isWatching = true
        let wait = max(.zero, lastProgress + Self.stallTimeout - clock.now) + .milliseconds(1)
        executor.queue.asyncAfter(deadline: .now() + .nanoseconds(Int(wait.inNanoseconds))) { [weak self] in
            self?.assumeIsolated { $0.checkStall() }
        }
    }

    private func checkStall() {
        isWatching = false
        guard !outbound.isEmpty else { return }
        if clock.now - lastProgress >= Self.stallTimeout {
            fail("\(peer): the peer stopped reading for \(Self.stallTimeout.components.seconds) s")
        } else {
            watchForStall()
        }
    }
}

extension RTMPConnection {
    private func readable() {
        guard phase != .closed, let socket else { return }
        var bytes: [UInt8] = []
        let outcome = withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { memory in
            let outcome = socket.receive(into: memory)
            if case .bytes(let count) = outcome { bytes = Array(memory[..<count]) }
            return outcome
        }
        switch outcome {
        case .bytes: take(bytes, isFirst: false)
        case .wouldBlock: break
        case .closed where phase == .leaving: finished()
        case .closed: fail("\(peer): \(socket.ending ?? "the \(peer.noun) closed the connection")")
        case .failed where phase == .leaving: finished()
        case .failed(let code): fail("\(peer): \(socket.reason(code))")
        }
    }

    private func take(_ bytes: [UInt8], isFirst: Bool) {
        guard !bytes.isEmpty else { return }
        let answer = inbound.take(bytes, isCounted: !isFirst)
        if let failure = answer.failure {
            let consequence = "its messages and pings are ignored from now on"
            report.tell(.notice("what the \(peer.noun) sends cannot be parsed (\(failure)): \(consequence)"))
        }
        if case .server(let url) = peer { heed(answer.messages, of: url) } else { obey(answer.wishes) }
        guard phase != .closed else { return }
        owesReplies = inbound.owesReplies
        if owesReplies { service() }
    }

    /// Reacts to status messages from a server.
    private func heed(_ messages: [RTMPStatusMessage], of url: RTMPURL) {
        for message in messages {
            if message.endsPublishing, phase == .live || phase == .draining {
                let kind = message.failureKind == .refused ? OutputFailure.Kind.refused : .lost
                return fail("\(url): the server said \(message.words(masking: url))", kind: kind)
            }
            report.tell(.notice("the server says: \(message.words(masking: url))"))
            if message.isReconnectRequest, !wasAskedToReconnect {
                wasAskedToReconnect = true
                report.tell(.reconnectRequested(address: message.address))
            }
        }
    }

    /// Reacts to commands from a player.
    private func obey(_ wishes: [RTMPPlayerCommand]) {
        for wish in wishes {
            playback.obey(wish)
            if wish == .stop, phase == .live || phase == .draining { return leave() }
        }
    }

    /// Sends the messages that end the stream, and then shuts down the sending side of the connection. Called after
    /// everything was sent, or when the player has stopped.
    private func leave() {
        phase = .leaving
        send(peer.ending(streamID: chunks.streamID))
        guard phase == .leaving else { return }
        leftAt = clock.now
        finishLeaving()
    }

    /// Waits for the peer to close the connection, for at most 300 ms or until all data is acknowledged, whichever is
    /// later. Until then received data is read and discarded, because closing a socket with unread data would reset the
    /// connection.
    private func finishLeaving() {
        guard phase == .leaving, let socket else { return }
        if outbound.isEmpty { socket.shutDown(CInt(SHUT_WR)) }
        let isPatient = clock.now - leftAt < Self.teardownTimeout
        guard isPatient || !outbound.isEmpty || socket.unacknowledgedBytes > 1 else {
            finished()
            return
        }
        post(after: Self.teardownInterval) { $0.finishLeaving() }
    }

    private func finished() {
        guard phase == .leaving else { return }
        close(reset: false)
        report.end(.drained)
    }
}
