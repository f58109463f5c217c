// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import LibAV
internal import Media
internal import Network
internal import SRT
internal import Synchronization

/// One attempt to serve SRT receivers that call us, several at a time.
///
/// Each caller is a session with a queue of its own, so a slow one delays no other. The output's queue is emptied into
/// them at once, and into nothing while nobody calls. The listening socket stays open all the while.
actor SRTListenAttempt: OutputAttempt, PacketServer, QueueActor {
    private enum Phase { case idle, resolving, listening, live, draining, closed }

    private struct Caller {
        let session: SRTSession
        /// Whether its queue was fed, so that it may be read.
        var isOnAir = false
        var hasAskedForKeyframe = false
        /// Whether its queue drops.
        var episode = DropEpisode()
    }

    private struct Shared {
        var sessions: [SRTSession] = []
        /// What callers that left had counted.
        var past = AttemptProgress()
        var pastTotals = SRTStatistics.Totals()
        var callersSoFar = 0
        var rejected: UInt64 = 0
    }

    private static let listenInterval = Duration.milliseconds(50)
    /// What was held while nobody called is shown to the first caller if it is no longer than this: it plays what it
    /// gets at the pace at which it comes, and a longer backlog would stay with it as delay.
    private static let freshMilliseconds = 500

    private let url: SRTURL
    private let name: String
    private let packets: PacketQueue
    private let streams: StreamDescription
    private let clock: any MonotonicClock
    private let report: AttemptReport
    private let admission: SRTAdmission
    private let shared = Mutex(Shared())
    private let wakes = WakeFlag()
    nonisolated let executor: QueueExecutor

    private var phase = Phase.idle
    private var socket: SRTSocket?
    private var callers: [Int: Caller] = [:]
    /// Whether the output's queue may be read.
    private var mayServe = false

    init(
        url: SRTURL, name: String, packets: PacketQueue, description: StreamDescription,
        clock: any MonotonicClock = SystemClock(), report: @escaping @Sendable (AttemptEvent) -> Void
    ) {
        self.url = url
        self.name = name
        self.packets = packets
        self.clock = clock
        self.report = AttemptReport(clock: clock, report)
        streams = description
        admission = SRTAdmission(wanted: url.streamID.map { SRTStreamID($0) }, maximum: url.maximumCallers)
        executor = QueueExecutor(DispatchQueue(label: "relay.srt.\(name)", qos: .userInitiated))
    }

    nonisolated func start() { post { $0.resolve() } }

    nonisolated func goLive() { post { $0.beginToServe() } }

    nonisolated var server: any PacketServer { self }

    nonisolated func wake() {
        guard wakes.raise() else { return }
        post { attempt in
            attempt.wakes.lower()
            attempt.serve()
        }
    }

    nonisolated func drain(until deadline: Int64, reason: EndReason) { post { $0.drain() } }

    nonisolated func abandon() {
        report.silence()
        post { $0.close() }
    }

    /// The sums of all callers' bytes, frames and drops, those of callers that left included: a frame that three callers
    /// got, or missed, counts as three.
    nonisolated var progress: AttemptProgress {
        let shared = shared.withLock { $0 }
        let all = shared.sessions.map(\.progress)
        var progress = AttemptProgress()
        progress.bytes = all.reduce(shared.past.bytes) { $0 + $1.bytes }
        progress.frames = all.reduce(shared.past.frames) { $0 + $1.frames }
        progress.drops = shared.past.drops
        let queues = shared.sessions.map(\.packets.status)
        for queue in queues { progress.drops.add(queue.dropCounts) }
        progress.details = SRTStatistics.merged(shared.sessions.map(\.statistics), past: shared.pastTotals).details
        progress.details["callers"] = Double(all.count)
        progress.details["callers_total"] = Double(shared.callersSoFar)
        progress.details["callers_rejected_total"] = Double(shared.rejected)
        progress.details["caller_queue_ms"] = Double(queues.map(\.milliseconds).max() ?? 0)
        progress.details["caller_dropped_frames"] = Double(queues.map(\.droppedFrames).max() ?? 0)
        return progress
    }
}

// MARK: Listening

extension SRTListenAttempt {
    private func resolve() {
        guard phase == .idle, !report.isOver else { return }
        phase = .resolving
        report.tell(.step("resolve"))
        HostResolver.shared.resolve(url.host, port: url.port) { answer in
            self.post { $0.listen(answer) }
        }
    }

    private func listen(_ answer: HostResolver.Answer) {
        guard phase == .resolving else { return }
        do throws(EndpointFailure) {
            guard let address = try answer.get().first else {
                throw EndpointFailure(.unreachable, step: "resolve", reason: "\(url): nothing to listen at")
            }
            let bandwidth = SRTBandwidth(streams, url: url)
            let socket = try SRTSocket(options: url, bandwidth: bandwidth, admission: admission)
            try socket.bind(to: address, url: url)
            try socket.listen(url)
            self.socket = socket
        } catch {
            return fail(OutputFailure(error))
        }
        phase = .listening
        report.tell(.step("listening"))
        checkListener()
    }

    /// A listener that nobody calls waits; it has not failed.
    private func checkListener() {
        guard phase == .listening || phase == .live, let socket else { return }
        noteRejections()
        while let caller = socket.accept() { join(caller) }
        guard socket.condition != .broken else {
            let reason = "\(url): the listening socket broke"
            return fail(OutputFailure(.unreachable, step: "listening", reason: reason))
        }
        post(after: Self.listenInterval) { $0.checkListener() }
    }

    /// Receivers that are sent away are named at first and then ever more rarely: anyone can call.
    private func noteRejections() {
        let (count, last) = admission.rejections
        let known = shared.withLock { shared in
            defer { shared.rejected = count }
            return shared.rejected
        }
        let hasDoubled = count.leadingZeroBitCount < known.leadingZeroBitCount
        guard count > known, let last, known < 4 || hasDoubled else { return }
        report.tell(.notice("a receiver was sent away with code \(last.rawValue), \(last) (\(count) so far)"))
    }

    /// A new caller gets a queue of its own, which begins at a keyframe. It is on air once that queue was fed, see
    /// ``serve()``.
    private func join(_ socket: SRTSocket) {
        guard callers.count < url.maximumCallers else {
            admission.countOverload()
            return socket.close {}
        }
        let number = shared.withLock { shared in
            shared.callersSoFar += 1
            return shared.callersSoFar
        }
        let own = PacketQueue(limits: packets.limits, isFromStart: false, leading: streams.leadingKind)
        let executor = QueueExecutor(DispatchQueue(label: "relay.srt.\(name).\(number)", qos: .userInitiated))
        do throws(AVFailure) {
            let session = try SRTSession(
                socket: socket, url: url, packets: own, description: streams, executor: executor,
                onNotice: { [report] in report.tell($0) },
                onEnd: { [weak self] ending in self?.post { $0.left(number, ending) } })
            callers[number] = Caller(session: session)
        } catch {
            return report.tell(.notice("a receiver could not be served: \(error)"))
        }
        updateCallers()
        report.tell(.notice("receiver \(number) called; \(callers.count) on air"))
        if phase == .listening {
            phase = .live
            report.tell(.accepted)
        }
    }

    private func left(_ number: Int, _ ending: SRTSession.Ending) {
        guard var caller = callers.removeValue(forKey: number) else { return }
        report(caller.episode.end(caller.session.packets.drops), of: number)
        updateCallers(leaving: caller.session)
        if caller.hasAskedForKeyframe, !callers.values.contains(where: \.hasAskedForKeyframe) {
            report.tell(.wantsNoKeyframe)
        }
        if case .failed(let failure) = ending {
            report.tell(.notice("receiver \(number) left (\(failure)); \(callers.count) on air"))
        }
        endIfDrained()
    }

    /// Tells everybody who is on air, and keeps what the one that left had counted.
    private func updateCallers(leaving: SRTSession? = nil) {
        let sessions = callers.values.map(\.session)
        let past = leaving?.progress ?? AttemptProgress()
        shared.withLock { shared in
            shared.sessions = sessions
            shared.past.bytes += past.bytes
            shared.past.frames += past.frames
            guard let leaving else { return }
            shared.past.drops.add(leaving.packets.status.dropCounts)
            shared.pastTotals.add(leaving.statistics.totals)
        }
        admission.setCallers(callers.count)
    }
}

// MARK: Sending and ending

extension SRTListenAttempt {
    private func beginToServe() {
        mayServe = true
        if packets.status.milliseconds > Self.freshMilliseconds {
            while packets.pop() != nil {}
        }
        serve()
    }

    /// Empties the output's queue into the callers' queues.
    private func serve() {
        guard mayServe, phase == .live || phase == .draining else { return }
        while let packet = packets.pop() {
            for caller in callers.values { caller.session.packets.push(packet) }
        }
        bringOnAir()
        var wantsKeyframe = false
        for (number, caller) in callers {
            let needs = caller.session.packets.needsKeyframe
            if needs, !caller.hasAskedForKeyframe { wantsKeyframe = true }
            callers[number]?.hasAskedForKeyframe = needs
            report(callers[number]?.episode.note(caller.session.packets.drops, at: clock.now), of: number)
            caller.session.wake()
        }
        if wantsKeyframe { report.tell(.wantsKeyframe) }
    }

    private func report(_ episode: DropEpisode.Event?, of number: Int) {
        switch episode {
        case .began(let drops):
            report.tell(
                .notice("receiver \(number) takes less than the program makes: frames are dropped (\(drops.summary))"))
        case .over(let drops):
            report.tell(
                .notice("receiver \(number): no frame is dropped any more; \(drops.frames) were (\(drops.summary))"))
        case .cut(let drops):
            report.tell(
                .notice("receiver \(number) left while frames were dropped; \(drops.frames) were (\(drops.summary))"))
        case nil: break
        }
    }

    /// Lets new callers' queues be read. Not before they are fed: what is in them by then is a backlog, which would be
    /// taken for congestion if it were pushed into a queue that is on air.
    private func bringOnAir() {
        for (number, caller) in callers where !caller.isOnAir {
            let session = caller.session
            _ = session.packets.connected()
            session.post { $0.start() }
            callers[number]?.isOnAir = true
        }
    }

    /// A listener that nobody called has nothing to send. One that was called a moment ago is told again once the queue may
    /// be read.
    private func drain() {
        guard phase == .live else {
            guard phase == .resolving || phase == .listening else { return }
            close()
            return report.end(.drained)
        }
        guard mayServe else { return }
        phase = .draining
        serve()
        for caller in callers.values {
            caller.session.post { $0.drain() }
        }
        endIfDrained()
    }

    private func endIfDrained() {
        guard phase == .draining, callers.isEmpty else { return }
        close()
        report.end(.drained)
    }

    private func fail(_ failure: OutputFailure) {
        guard phase != .closed else { return }
        close()
        report.end(.failed(failure))
    }

    private func close() {
        phase = .closed
        socket?.close {}
        socket = nil
        for caller in callers.values {
            caller.session.post { $0.abandon() }
        }
        callers = [:]
    }
}
