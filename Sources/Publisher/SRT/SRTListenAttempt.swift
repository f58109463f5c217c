// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import LibAV
internal import Media
internal import Networking
internal import SRT

/// Serves the SRT receivers that connect to relay, several at a time, until the output ends.
///
/// Each receiver has a session with its own queue, so a slow receiver does not delay the others. Packets are moved at
/// once from the output's queue to the receivers' queues, and are discarded while there is no receiver. The listening
/// socket stays open until the output ends or pauses; the receivers' connections may last longer.
actor SRTListenAttempt: ServingAttempt {
    private enum Phase { case idle, resolving, listening, live, draining, closed }

    private static let listenInterval = Duration.milliseconds(50)
    /// The maximum duration of the packets from before its connection that the first receiver gets. A receiver plays
    /// packets at the pace at which they arrive, so a longer backlog would become a permanent delay.
    private static let freshMilliseconds = 500

    private let url: SRTURL
    nonisolated let context: AttemptContext
    private let admission: SRTAdmission
    private let totals = ReceiverTotals(.callers)

    private var phase = Phase.idle
    private var socket: SRTSocket?
    private var callers: [SRTCaller] = []
    /// True after ``goLive()`` was called. The output's queue may be read only then.
    private var mayServe = false

    init(url: SRTURL, keys: StreamKeyGuard = SRTServer.shared.keys, context: consuming AttemptContext) {
        self.url = url
        admission = SRTAdmission(
            wanted: url.streamID.map { SRTStreamID($0) }, maximum: url.maximumCallers, keys: keys,
            clock: context.clock)
        self.context = context
    }

    nonisolated func goLive() { post { $0.beginToServe() } }

    nonisolated func drain(until deadline: MonotonicInstant, reason: EndReason) { post { $0.drain() } }

    nonisolated var progress: AttemptProgress { totals.progress }
}

// MARK: Listening

extension SRTListenAttempt {
    func begin() {
        guard phase == .idle, !report.isOver else { return }
        phase = .resolving
        resolve(url.host, port: url.port) { $0.listen($1) }
    }

    private func listen(_ answer: HostResolver.Answer) {
        guard phase == .resolving else { return }
        do throws(OutputFailure) {
            guard let address = try answer.get().first else {
                throw OutputFailure(.unreachable, step: "resolve", reason: "\(url): nothing to listen at")
            }
            let bandwidth = SRTBandwidth(streams, url: url)
            let socket = try SRTSocket(options: url, bandwidth: bandwidth, admission: admission)
            try socket.bind(to: address, url: url)
            try socket.listen(url)
            self.socket = socket
        } catch {
            return fail(error)
        }
        phase = .listening
        report.tell(.step("listening"))
        report.tell(.awaitsCallers)
        checkListener()
    }

    /// Accepts new receivers, and checks the listening socket. A listening output without receivers counts as waiting,
    /// not as failed.
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

    /// Logs refused receivers. When four or more are known, only each doubling of their number is logged, because
    /// anyone can connect.
    private func noteRejections() {
        if admission.countFailures() > 0 {
            let reason = "its passphrase is wrong, or it has one where none is asked for"
            report.tell(.notice("a receiver was sent away: \(reason)"))
        }
        if let warning = admission.takeWarning() { report.tell(.notice(warning)) }
        let (count, last) = admission.rejections
        let known = totals.setRefused(count)
        let hasDoubled = count.leadingZeroBitCount < known.leadingZeroBitCount
        guard count > known, let last, known < 4 || hasDoubled else { return }
        report.tell(.notice("a receiver was sent away with code \(last.rawValue), \(last) (\(count) so far)"))
    }

    /// Adds a receiver with its own queue, which begins at a keyframe. The receiver goes on air when packets were added
    /// to its queue, see ``serve()``.
    private func join(_ socket: SRTSocket) {
        admission.connected(socket)
        guard callers.count < url.maximumCallers else {
            admission.countOverload()
            return socket.close {}
        }
        let number = totals.nextNumber()
        let own = PacketQueue(limits: packets.limits, isFromStart: false, leading: streams.leadingKind)
        let executor = QueueExecutor(
            DispatchQueue(label: "\(self.executor.queue.label).\(number)", qos: .userInitiated))
        do throws(AVFailure) {
            let session = try SRTSession(
                socket: socket, url: url, packets: own, description: streams, executor: executor,
                onNotice: { [report] in report.tell($0) },
                onEnd: { [weak self] ending in self?.post { $0.left(number, ending) } })
            callers.append(SRTCaller(number: number, session: session))
            totals.add(session)
        } catch {
            return report.tell(.notice("a receiver could not be served: \(error)"))
        }
        admission.setCallers(callers.count)
        report.tell(.notice("receiver \(number) called; \(callers.count) on air"))
        phase = .live
        if callers.count == 1 { report.tell(.accepted) }
    }

    private func left(_ number: Int, _ ending: SRTSession.Ending) {
        guard let index = callers.firstIndex(where: { $0.number == number }) else { return }
        var caller = callers.remove(at: index)
        let notices = caller.leave(ending, others: callers.count)
        totals.remove(caller.session)
        admission.setCallers(callers.count)
        if caller.awaitsKeyframe, !callers.contains(where: \.awaitsKeyframe) {
            report.tell(.wantsNoKeyframe)
        }
        for notice in notices { report.tell(.notice(notice)) }
        if callers.isEmpty, phase == .live { report.tell(.awaitsCallers) }
        endIfDrained()
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

    /// Moves the packets from the output's queue to the receivers' queues.
    func serve() {
        guard mayServe, phase == .live || phase == .draining else { return }
        while let packet = packets.pop() {
            for caller in callers { caller.session.packets.push(packet) }
        }
        var wantsKeyframe = false
        for index in callers.indices {
            if callers[index].wake() { wantsKeyframe = true }
            if let notice = callers[index].noteDrops(at: clock.now) { report.tell(.notice(notice)) }
        }
        if wantsKeyframe { report.tell(.wantsKeyframe) }
    }

    /// Ends the sessions of all receivers. Without a receiver nothing remains to be sent. If a receiver has just joined
    /// and ``goLive()`` was not called yet, does nothing; the supervisor calls ``drain(until:reason:)`` again after
    /// ``goLive()``.
    private func drain() {
        guard phase == .live else {
            guard phase == .resolving || phase == .listening else { return }
            return drained()
        }
        guard mayServe else { return }
        phase = .draining
        socket.take()?.close { [report] in report.tell(.stoppedListening) }
        serve()
        for caller in callers { caller.session.post { $0.drain() } }
        endIfDrained()
    }

    private func endIfDrained() {
        if phase == .draining, callers.isEmpty { drained() }
    }

    func close() {
        phase = .closed
        socket?.close {}
        socket = nil
        for caller in callers { caller.session.post { $0.abandon() } }
        callers = []
    }
}
