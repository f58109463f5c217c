// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import LibAV
internal import Media
internal import SRT
internal import Synchronization

/// One SRT connection and the program that it carries: a queue of packets, a transport stream, a socket.
///
/// `@unchecked Sendable`: the mutable properties below `queue` belong to that serial queue, on which every method but
/// ``wake()`` runs; what other threads reach is behind `shared` and `wakes`.
final class SRTSession: @unchecked Sendable {
    /// How a session ended. It is told once, on `queue`.
    enum Ending: Sendable {
        case failed(OutputFailure)
        /// All of the program went out, and the receiver has it.
        case drained
    }

    enum Phase { case idle, live, draining, lingering, closed }

    static let pollMilliseconds = 10
    static let retryMilliseconds = 10
    /// Messages made ahead of the library: enough for a frame, few enough to stop in time.
    static let messagesAhead = 64
    /// A receiver that took nothing for so long, in microseconds, is not shown what it missed.
    static let stall: Int64 = 1_000_000

    let url: SRTURL
    let packets: PacketQueue
    let queue: DispatchQueue
    let socket: SRTSocket
    let stream: TransportStream
    let frameInterval: Int64
    private let shared = Mutex(AttemptProgress())
    private let wakes = Atomic<Bool>(false)
    private let onNotice: @Sendable (AttemptEvent) -> Void
    private let onEnd: @Sendable (Ending) -> Void

    var phase = Phase.idle
    var pace = SRTPace()
    var bandwidth: SRTBandwidth
    /// The receiver's latency and the round trip, in milliseconds.
    let latency: Int64
    var roundTrip = 0.0
    /// Since when (microseconds) nothing is handed to the library, because what it holds is too old.
    var shutSince: Int64?
    /// Whether the backlog of the beginning has not gone out yet.
    var isCatchingUp = true
    var isRetrying = false
    /// Frames whose last message is not with the library yet.
    var unsentFrames = 0
    /// What the library had dropped when the numbers were taken last, in bytes.
    private var droppedBytes = 0.0
    private var timer: (any DispatchSourceTimer)?

    /// A session that sends `packets` to the receiver behind `socket`, on `queue`. `onNotice` and `onEnd` are called there.
    init(
        socket: SRTSocket, url: SRTURL, packets: PacketQueue, description: StreamDescription, queue: DispatchQueue,
        onNotice: @escaping @Sendable (AttemptEvent) -> Void, onEnd: @escaping @Sendable (Ending) -> Void
    ) throws(AVFailure) {
        self.socket = socket
        self.url = url
        self.packets = packets
        self.queue = queue
        self.onNotice = onNotice
        self.onEnd = onEnd
        stream = try TransportStream(description: description, messageBytes: url.messageBytes)
        bandwidth = SRTBandwidth(description, url: url)
        latency = socket.receiverLatency
        frameInterval = description.video.format.frameRate.timeBase.rescale(1, to: TimeBase(1, 1_000_000))
    }

    /// What was sent so far. Any thread.
    var progress: AttemptProgress { shared.withLock { $0 } }

    /// ``progress``, in which what the session's own queue dropped counts too: nobody else sees that queue. Any thread.
    var countedProgress: AttemptProgress {
        var progress = progress
        progress.drops = packets.status.dropCounts
        progress.details["dropped_frames_total", default: 0] += Double(progress.drops.frames)
        return progress
    }

    /// The queue has something new. Any thread; does not block.
    func wake() {
        if wakes.exchange(true, ordering: .acquiringAndReleasing) { return }
        queue.async {
            self.wakes.store(false, ordering: .releasing)
            self.service()
        }
    }

    /// Begins to send.
    func start() {
        guard phase == .idle else { return }
        phase = .live
        inspect()
        startTimer()
        if bandwidth.adaptsOverhead { socket.setOverhead(100) }
        service()
    }

    /// Sends what is queued, then says goodbye.
    func drain() {
        guard phase == .live else { return }
        phase = .draining
        if bandwidth.adaptsOverhead { socket.setOverhead(100) }
        service()
    }

    /// Ends at once; nothing is told.
    func abandon() { close {} }

    // MARK: Ending

    func fail(_ failure: OutputFailure) { end(.failed(failure)) }

    func end(_ ending: Ending) {
        guard phase != .closed else { return }
        // Never from within, so that what was sent is counted before.
        let tell: @Sendable () -> Void = { [queue, onEnd] in queue.async { onEnd(ending) } }
        if case .drained = ending {
            close(tell)
        } else {
            close {}
            tell()
        }
    }

    private func close(_ completion: @escaping @Sendable () -> Void) {
        phase = .closed
        timer?.cancel()
        timer = nil
        socket.close(completion)
    }

    func after(_ milliseconds: Int, _ work: @escaping @Sendable () -> Void) {
        queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds), execute: work)
    }

    // MARK: Numbers

    func account(bytes: Int, frames: Int) {
        shared.withLock { progress in
            progress.bytes += UInt64(bytes)
            progress.frames += UInt64(frames)
        }
    }

    /// Once a second: numbers for display, the rate, and whether the connection still stands.
    private func startTimer() {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + 1, repeating: 1, leeway: .milliseconds(50))
        timer.setEventHandler { [weak self] in self?.inspectInTime() }
        timer.activate()
        self.timer = timer
    }

    private func inspectInTime() {
        guard phase == .live || phase == .draining else { return }
        guard socket.condition != .broken else { return fail(gone) }
        inspect()
        if let rate = bandwidth.update() { socket.setInputRate(rate) }
    }

    private func inspect() {
        var details = socket.statistics()
        roundTrip = details["rtt_ms"] ?? roundTrip
        if bandwidth.adaptsInput { details["input_bw_mbps"] = Double(bandwidth.input) * 8 / 1e6 }
        let dropped = details["dropped_bytes_total"] ?? 0
        let sent = progress
        let frameBytes = sent.frames > 0 ? Double(sent.bytes) / Double(sent.frames) : 0
        // The worth of a byte changes; what was counted once stays.
        let counted = sent.details["dropped_frames_total"] ?? 0
        details["dropped_frames_total"] = max(counted, frameBytes > 0 ? (dropped / frameBytes).rounded(.up) : 0)
        if dropped > droppedBytes {
            onNotice(.notice("libsrt dropped \(Int64(dropped - droppedBytes)) bytes that were too late to send"))
            onNotice(.wantsKeyframe)
            droppedBytes = dropped
        }
        shared.withLock { $0.details = details }
    }
}
