// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import LibAV
internal import Media
internal import Networking
internal import SRT
internal import Synchronization

/// One attempt to connect to an SRT receiver, as caller or in rendezvous mode, and to send the program to it.
actor SRTCallAttempt: EndingAttempt {
    private enum Phase { case idle, resolving, calling, connected, closed }

    private let url: SRTURL
    nonisolated let context: AttemptContext
    private let session = Mutex<SRTSession?>(nil)

    private var phase = Phase.idle
    private var socket: SRTSocket?
    private var untried: [HostAddress] = []
    /// The deadline of the call to the present address.
    private var deadline = MonotonicInstant.distantPast
    /// The deadline of the whole attempt to connect. Addresses that were not tried before the deadline are not tried
    /// any more.
    private var lastDeadline = MonotonicInstant.distantPast

    init(url: SRTURL, context: consuming AttemptContext) {
        self.url = url
        self.context = context
    }

    nonisolated var progress: AttemptProgress { session.withLock { $0 }?.progress ?? AttemptProgress() }

    nonisolated func goLive() { session.withLock { $0 }?.post { $0.start() } }

    nonisolated func wake() { session.withLock { $0 }?.wake() }

    nonisolated func drain(until deadline: MonotonicInstant, reason: EndReason) {
        session.withLock { $0 }?.post { $0.drain() }
    }
}

extension SRTCallAttempt {
    /// The time limit for all addresses together. If the limit for a single address is longer, that limit applies
    /// instead.
    private static let callTimeout = Duration.seconds(15)

    /// The time limit for one address. libsrt's own time limit is a second shorter.
    private var addressTimeout: Duration { .milliseconds(url.connectMilliseconds + 1000) }

    func begin() {
        guard phase == .idle, !report.isOver else { return }
        phase = .resolving
        resolve(url.host, port: url.port) { $0.resolved($1) }
    }

    private func resolved(_ answer: HostResolver.Answer) {
        guard phase == .resolving else { return }
        do throws(OutputFailure) {
            untried = try answer.get()
            // With a local address set in the URL, only receiver addresses of the same family (IPv4 or IPv6) can be
            // used.
            if let local = url.local { untried.removeAll { $0.family != local.family } }
            guard !untried.isEmpty else {
                throw OutputFailure(
                    .unreachable, step: "resolve", reason: "\(url): the name has no address of localaddr's family")
            }
            phase = .calling
            lastDeadline = clock.now + max(Self.callTimeout, addressTimeout)
            report.tell(.step("connect"))
            try callNext()
        } catch {
            fail(error)
        }
    }

    private func callNext() throws(OutputFailure) {
        let address = untried.removeFirst()
        do throws(OutputFailure) {
            let socket = try SRTSocket(options: url, bandwidth: SRTBandwidth(streams, url: url))
            if let local = url.localAddress(for: address) { try socket.bind(to: local, url: url) }
            try socket.connect(to: address, url: url)
            self.socket = socket
        } catch {
            // The next address is tried. If the host cannot reach addresses of this family, connecting fails at once,
            // and the next address may be of the other family.
            guard !untried.isEmpty, error.kind == .unreachable else { throw error }
            return try callNext()
        }
        deadline = min(lastDeadline, clock.now + addressTimeout)
        poll()
    }

    private func poll() {
        post(after: SRTSession.pollInterval) { $0.checkCall() }
    }

    private func checkCall() {
        guard phase == .calling, let socket else { return }
        let condition = socket.condition
        if condition == .connected { return connected(socket) }
        let now = clock.now
        if condition == .pending, now < deadline {
            poll()
        } else {
            let rejection = socket.rejection(of: url)
            guard rejection.kind == .unreachable, !untried.isEmpty, now < lastDeadline else { return fail(rejection) }
            do throws(OutputFailure) { try callNext() } catch { fail(error) }
        }
    }

    private func connected(_ socket: SRTSocket) {
        do throws(AVFailure) {
            let session = try SRTSession(
                socket: socket, url: url, packets: packets, description: streams, executor: executor,
                onNotice: { [report] in report.tell($0) },
                onEnd: { [weak self] ending in self?.assumeIsolated { $0.ended(ending) } })
            self.session.withLock { $0 = session }
        } catch {
            return fail(OutputFailure(.rejected, step: "publish", reason: "\(error)"))
        }
        phase = .connected
        self.socket = nil
        untried = []
        report.tell(.accepted)
    }

    private func ended(_ ending: SRTSession.Ending) {
        switch ending {
        case .failed(let failure): fail(failure)
        case .drained: drained()
        }
    }

    /// Closes the socket. The session is kept, because its statistics are still read.
    func close() {
        phase = .closed
        socket = nil
        session.withLock { $0 }?.assumeIsolated { $0.abandon() }
    }
}
