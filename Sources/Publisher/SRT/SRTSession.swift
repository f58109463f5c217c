// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import LibAV
internal import Media
internal import SRT
internal import Synchronization

/// One SRT connection and what is sent on it: a queue of packets, a transport stream, and a socket.
///
/// It runs on its own queue, or on the queue of the attempt that connected it.
actor SRTSession: QueueActor, CountedReceiver {
    /// How a session ended. It is reported once, on the session's queue.
    enum Ending: Sendable {
        case failed(OutputFailure)
        /// All packets in the queue were sent. The receiver has acknowledged them, unless the wait for the last
        /// acknowledgements became too long; frames that it has not acknowledged count as lost.
        case drained
    }

    private struct Sent {
        var bytes: UInt64 = 0
        /// The number of frames that the receiver has acknowledged.
        var frames: UInt64 = 0
        /// The number of frames that were taken from the queue and are not acknowledged yet.
        var waiting = 0
        /// Frames that were taken from the queue and that libsrt dropped, or that were not acknowledged before the
        /// session ended.
        var lost = DropCounts()
        var statistics = SRTStatistics()
    }

    enum Phase { case idle, live, draining, lingering, closed }

    static let pollInterval = Duration.milliseconds(10)
    static let retryInterval = Duration.milliseconds(10)
    /// How much later than its latency a receiver may play the end of the program. With only 50 ms, a receiver whose
    /// handshake was delayed by 0.3 s lost the last 10 frames (libsrt 1.5.1).
    static let playoutMargin = Duration.seconds(1)
    /// The maximum number of messages that are prepared before they are passed to libsrt. This number is enough for a
    /// frame, and few enough to stop in time.
    static let messagesAhead = 64

    let url: SRTURL
    nonisolated let packets: PacketQueue
    nonisolated let executor: QueueExecutor
    let socket: SRTSocket
    let stream: TransportStream
    var spacing = FrameSpacing()
    private let shared = Mutex(Sent())
    private let wakes = WakeFlag()
    let onNotice: @Sendable (AttemptEvent) -> Void
    private let onEnd: @Sendable (Ending) -> Void

    var phase = Phase.idle
    var pace = SRTPace()
    var bandwidth: SRTBandwidth
    /// The receiver's latency, in milliseconds.
    let latency: Int64
    var roundTrip = 0.0
    /// Decides whether more messages may be passed to libsrt.
    var window: SRTSendWindow
    /// Whether a backlog is still being sent: packets from before the connection, or from an outage.
    var isCatchingUp = true
    var isRetrying = false
    /// Whether a check for unacknowledged messages is scheduled.
    var isWatching = false
    /// The number of frames whose last message was not passed to libsrt yet.
    private var unsentFrames = 0
    private var receipts = SRTReceipts()
    /// Whether libsrt itself drops messages that are too late to send.
    private let dropsLate: Bool
    /// The number of frames that libsrt dropped while the session waited for the last acknowledgements.
    private var framesDroppedAtEnd = 0
    private var timer: (any DispatchSourceTimer)?

    /// Creates a session that sends `packets` through `socket`, on the queue of `executor`. `onNotice` and `onEnd` are
    /// called on that queue.
    init(
        socket: SRTSocket, url: SRTURL, packets: PacketQueue, description: StreamDescription, executor: QueueExecutor,
        onNotice: @escaping @Sendable (AttemptEvent) -> Void, onEnd: @escaping @Sendable (Ending) -> Void
    ) throws(AVFailure) {
        self.socket = socket
        self.url = url
        self.packets = packets
        self.executor = executor
        self.onNotice = onNotice
        self.onEnd = onEnd
        stream = try TransportStream(description: description, messageBytes: url.messageBytes)
        bandwidth = SRTBandwidth(description, url: url)
        latency = socket.receiverLatency
        let dropAge = url.dropAge(latency: latency)
        dropsLate = dropAge != nil
        window = SRTSendWindow(latency: latency, dropAge: dropAge, silence: url.silenceMilliseconds)
    }

    /// The totals of bytes sent and frames acknowledged so far. May be read on any thread.
    nonisolated var progress: AttemptProgress {
        let sent = shared.withLock { $0 }
        var progress = AttemptProgress()
        (progress.bytes, progress.frames, progress.drops) = (sent.bytes, sent.frames, sent.lost)
        progress.waitingFrames = sent.waiting
        progress.details.srt = sent.statistics
        return progress
    }

    /// The latest statistics from libsrt. May be read on any thread.
    nonisolated var statistics: SRTStatistics { shared.withLock { $0.statistics } }

    /// Tells the session that packets were added to its queue. May be called on any thread; does not block.
    nonisolated func wake() {
        guard wakes.raise() else { return }
        post { session in
            session.wakes.lower()
            session.service()
        }
    }

    /// Starts to send packets.
    func start() {
        guard phase == .idle else { return }
        phase = .live
        inspect()
        startTimer()
        catchUp()
        service()
    }

    /// Sends all packets in the queue, then ends the connection.
    func drain() {
        guard phase == .live else { return }
        phase = .draining
        catchUp()
        service()
    }

    /// Ends the connection at once. ``Ending`` is not reported.
    func abandon() { close {} }

    // MARK: Ending

    func fail(_ failure: OutputFailure) { end(.failed(failure)) }

    func end(_ ending: Ending) {
        guard phase != .closed else { return }
        // The session's end is always reported in a later block of the queue, so that all sent data is counted first.
        let tell: @Sendable () -> Void = { [executor, onEnd] in executor.queue.async { onEnd(ending) } }
        if case .drained = ending {
            close(tell)
        } else {
            close {}
            tell()
        }
    }

    /// Closes the socket, after reading libsrt's statistics for the last time. Frames that were taken from the queue
    /// and not acknowledged count as lost.
    private func close(_ completion: @escaping @Sendable () -> Void) {
        guard phase != .closed else { return }
        phase = .closed
        timer?.cancel()
        timer = nil
        inspect()
        noteReceipts()
        let frames = unsentFrames + receipts.giveUp()
        unsentFrames = 0
        shared.withLock { sent in
            sent.lost.add(.notConnected, frames: frames)
            sent.waiting = 0
        }
        socket.close(completion)
    }

    // MARK: Statistics

    /// The number of frames that were taken from the queue and that the receiver has not acknowledged.
    private var waitingFrames: Int { unsentFrames + receipts.frames }

    /// The number of frames that the receiver has not acknowledged, including those that libsrt dropped while the
    /// session waited for the last acknowledgements.
    var unacknowledgedFrames: Int { waitingFrames + framesDroppedAtEnd }

    /// Counts a frame that was taken from the queue.
    func tookFrame() {
        unsentFrames += 1
        share()
    }

    /// Counts a probe that was passed to libsrt.
    func handedOverProbe(bytes: Int) {
        receipts.handedOver(isMedia: false)
        shared.withLock { $0.bytes += UInt64(bytes) }
    }

    /// Counts a message of the stream that was passed to libsrt. If no further message is complete, all frames that
    /// were taken from the queue end with this one, except those that end in the stream's incomplete message.
    func handedOver(bytes: Int) {
        receipts.handedOver()
        if stream.count == 0 {
            receipts.completed(unsentFrames - stream.incompleteFrames, isWhole: stream.incompleteFrames == 0)
            unsentFrames = stream.incompleteFrames
        }
        shared.withLock { $0.bytes += UInt64(bytes) }
    }

    /// Counts the frames that the receiver has acknowledged, and those that libsrt dropped, since the last call.
    func noteReceipts() {
        guard receipts.frames > 0 || dropsLate, let held = socket.sendBuffer,
            let dropped = dropsLate ? socket.statistics()?.totals.packetsDropped : 0
        else { return }
        let (acknowledged, lost) = receipts.release(held: held.messages, dropped: dropped)
        if phase == .lingering { framesDroppedAtEnd += lost }
        share(acknowledged: acknowledged, lost: lost)
    }

    private func share(acknowledged: Int = 0, lost: Int = 0) {
        let waiting = waitingFrames
        shared.withLock { sent in
            sent.frames += UInt64(acknowledged)
            sent.lost.add(.overflow, frames: lost)
            sent.waiting = waiting
        }
    }

    /// Starts a timer that fires once per second. It updates the statistics and the stream's rate, and checks that the
    /// connection still exists.
    private func startTimer() {
        let timer = DispatchSource.makeTimerSource(queue: executor.queue)
        timer.schedule(deadline: .now() + 1, repeating: 1, leeway: .milliseconds(50))
        timer.setEventHandler { [weak self] in self?.assumeIsolated { $0.inspectInTime() } }
        timer.activate()
        self.timer = timer
    }

    private func inspectInTime() {
        guard phase == .live || phase == .draining else { return }
        guard socket.condition != .broken else { return fail(gone) }
        inspect()
        noteReceipts()
        if let rate = bandwidth.update() { socket.setInputRate(rate) }
    }

    private func inspect() {
        guard var now = socket.statistics() else { return }
        if bandwidth.adaptsInput { now.moment?.inputBandwidth = Double(bandwidth.input) * 8 / 1e6 }
        roundTrip = now.moment?.roundTripMilliseconds ?? roundTrip
        let before = shared.withLock { sent in
            defer { sent.statistics = now }
            return sent.statistics.totals
        }
        let (packets, bytes) = (
            now.totals.packetsDropped - before.packetsDropped, now.totals.bytesDropped - before.bytesDropped
        )
        guard packets > 0 else { return }
        onNotice(.notice("libsrt dropped \(packets) packets (\(bytes) bytes) that were too late to send"))
        if phase != .closed { onNotice(.wantsKeyframe) }
    }
}
