// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import Glibc
internal import LibAV
internal import Media
internal import Networking
internal import Synchronization

/// One attempt to send an MPEG transport stream by UDP.
///
/// UDP has no connections. The output is live as soon as there is a route to the address, and stays live whether or not
/// there is a receiver. Datagrams that a host or a firewall refuses are only counted. The attempt fails if the name
/// cannot be resolved, if there is no route, or if sending fails for another reason.
actor UDPAttempt: ServingAttempt {
    private enum Phase { case idle, connected, live, draining, closed }

    /// The minimum time between two log messages about lost datagrams.
    private static let noticeInterval = Duration.seconds(60)
    /// The time after which a datagram that the kernel did not accept is tried again. It is used only at the end of the
    /// stream.
    private static let retryInterval = Duration.milliseconds(5)

    private let url: UDPURL
    nonisolated let context: AttemptContext
    private let sent = Mutex(AttemptProgress())

    private var phase = Phase.idle
    private var socket: UDPSocket?
    private var stream: TransportStream?
    private var pacing = UDPPacing()
    private var spacing = FrameSpacing()
    private var timer: (any DispatchSourceTimer)?
    /// The number of frames whose last datagram was not sent yet.
    private var unsentFrames = 0 {
        didSet {
            let frames = unsentFrames
            sent.withLock { $0.waitingFrames = frames }
        }
    }
    private var lostDatagrams = 0
    /// When lost datagrams were last logged; nil if none were.
    private var lastNotice: MonotonicInstant?

    init(url: UDPURL, context: consuming AttemptContext) {
        self.url = url
        self.context = context
    }

    nonisolated var progress: AttemptProgress { sent.withLock { $0 } }

    nonisolated func goLive() { post { $0.enter(.live, from: .connected) } }

    nonisolated func drain(until deadline: MonotonicInstant, reason: EndReason) {
        post { $0.enter(.draining, from: .live) }
    }
}

extension UDPAttempt {
    func begin() {
        guard phase == .idle, !report.isOver else { return }
        resolve(url.host, port: url.port) { $0.resolved($1) }
    }

    private func resolved(_ answer: HostResolver.Answer) {
        guard phase == .idle, !report.isOver else { return }
        do throws(OutputFailure) {
            let addresses = try answer.get()
            report.tell(.step("connect"))
            socket = try UDPSocket.open(url, addresses)
            stream = try makeStream()
            phase = .connected
            report.tell(.accepted)
        } catch {
            fail(error)
        }
    }

    private func makeStream() throws(OutputFailure) -> TransportStream {
        do throws(AVFailure) {
            return try TransportStream(description: streams, messageBytes: url.datagramBytes)
        } catch {
            throw OutputFailure(.rejected, step: "publish", reason: "\(error)")
        }
    }

    private func enter(_ next: Phase, from last: Phase) {
        guard phase == last else { return }
        phase = next
        serve()
    }

    func close() {
        phase = .closed
        timer?.cancel()
        timer = nil
        socket = nil
        stream = nil
        let frames = unsentFrames
        unsentFrames = 0
        sent.withLock { $0.drops.add(.notConnected, frames: frames) }
    }
}

// MARK: Sending

extension UDPAttempt {
    /// Handles a new frame. The rest of the previous frame is sent now, and the new frame is spread over its duration.
    func serve() {
        guard phase == .live || phase == .draining, let socket, let stream else { return }
        // Datagrams of the previous frame that the kernel does not accept are kept. Later packets then wait in the
        // queue, where the drop policy applies.
        guard send(stream.count, of: stream, by: socket) else { return retryIfDraining() }
        guard fill(stream) else { return }
        if phase == .draining { return leave(stream, socket) }
        let tick = pacing.tick
        pacing.begin(count: stream.count, at: clock.now, frame: spacing.interval)
        // If frames have become much longer or shorter, the timer is stopped, and restarts with another interval.
        if (pacing.tick - tick).magnitude > UInt64(tick / 4) { stopTimer() }
        sendDue()
    }

    /// Makes datagrams from the packets in the queue. Returns false after a failure.
    private func fill(_ stream: TransportStream) -> Bool {
        do throws(AVFailure) {
            while let packet = packets.pop() {
                if packet.track == .video { unsentFrames += 1 }
                try stream.write(packet)
                if packet.track == .video { spacing.note(packet) }
            }
            stream.flush()
            return true
        } catch {
            fail(OutputFailure(.lost, step: "send", reason: "\(error)"))
            return false
        }
    }

    private func sendDue() {
        guard phase == .live, let socket, let stream else { return }
        let count = min(stream.count, pacing.due(at: clock.now))
        _ = send(count, of: stream, by: socket)
        if phase == .live, stream.count > 0 { startTimer() } else { stopTimer() }
    }

    private func startTimer() {
        guard timer == nil else { return }
        let interval = DispatchTimeInterval.nanoseconds(Int(pacing.tick))
        let timer = DispatchSource.makeTimerSource(flags: .strict, queue: executor.queue)
        timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .nanoseconds(0))
        timer.setEventHandler { [weak self] in self?.assumeIsolated { $0.sendDue() } }
        timer.activate()
        self.timer = timer
    }

    private func stopTimer() {
        timer?.cancel()
        timer = nil
    }

    /// Sends the oldest `count` datagrams. Returns false if the kernel accepts no more at present, or if the attempt
    /// has ended.
    private func send(_ count: Int, of stream: TransportStream, by socket: UDPSocket) -> Bool {
        var (bytes, handled) = (0, 0)
        defer {
            pacing.note(sent: handled)
            if handled > 0 { account(bytes: bytes, isComplete: stream.count == 0) }
        }
        while handled < count, let datagram = stream.first {
            switch socket.send(datagram) {
            case .sent: bytes += datagram.count
            case .sentAfterLoss(let reason):
                bytes += datagram.count
                noteLoss(reason)
            case .lost(let reason): noteLoss(reason)
            case .wouldBlock: return false
            case .failed(let reason):
                fail(OutputFailure(.lost, step: "send", reason: "\(url): \(reason)"))
                return false
            }
            stream.removeFirst()
            handled += 1
        }
        return true
    }

    private func noteLoss(_ reason: String) {
        lostDatagrams += 1
        let now = clock.now
        guard lastNotice.map({ now - $0 >= Self.noticeInterval }) ?? true else { return }
        lastNotice = now
        report.tell(.notice("\(url): \(reason); the stream is sent all the same"))
    }

    private func account(bytes: Int, isComplete: Bool) {
        let frames = isComplete ? unsentFrames : 0
        unsentFrames -= frames
        sent.withLock { sent in
            sent.bytes += UInt64(bytes)
            sent.frames += UInt64(frames)
            sent.details.set(.sendErrors, to: Double(lostDatagrams))
        }
    }

    private func leave(_ stream: TransportStream, _ socket: UDPSocket) {
        do throws(AVFailure) { try stream.finish() } catch { report.tell(.notice("\(error)")) }
        guard send(stream.count, of: stream, by: socket) else { return retryIfDraining() }
        drained()
    }

    /// Schedules a retry at the end of the stream, because no further frame will cause another try.
    private func retryIfDraining() {
        guard phase == .draining else { return }
        post(after: Self.retryInterval) { $0.serve() }
    }
}

/// Spreads the datagrams of one frame over the time until the next frame.
///
/// A receiver in the same network segment, and each switch on the path, then needs a buffer of only a few datagrams. If
/// a whole IDR frame were sent in one burst, it would overflow such a buffer.
struct UDPPacing {
    /// The time over which a frame is spread, in nanoseconds. It is nine tenths of the frame's duration, so that all of
    /// the frame is sent before the next frame comes.
    private(set) var window: Int64 = 1
    private var start = MonotonicInstant.distantPast
    private var total = 0
    private var sent = 0

    /// Creates the state before the first frame.
    init() {}

    /// The interval of the timer, in nanoseconds. It is an eighth of ``window``, but at least 2 ms.
    var tick: Int64 { max(2_000_000, window / 8) }

    /// Starts to pace a frame of `count` datagrams at `now`. The frame lasts `frame` nanoseconds.
    mutating func begin(count: Int, at now: MonotonicInstant, frame: Int64) {
        (start, total, sent) = (now, count, 0)
        window = max(1, frame / 10 * 9)
    }

    /// Returns how many more datagrams of the frame may be sent at `now`. The first one may always be sent.
    func due(at now: MonotonicInstant) -> Int {
        let elapsed = min(max(0, (now - start).inNanoseconds), window)
        // The share of the frame that is due includes the first interval of the timer, whose datagrams may be sent at
        // once.
        let share = Double(elapsed + min(tick, window)) / Double(window)
        return min(total, max(1, Int((Double(total) * share).rounded(.up)))) - sent
    }

    /// Records that `count` datagrams of the frame were sent.
    mutating func note(sent count: Int) { sent = min(total, sent + count) }
}
