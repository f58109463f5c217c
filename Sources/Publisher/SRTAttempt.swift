// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import Glibc
internal import LibAV
internal import Media
internal import Synchronization

/// One attempt to send to an SRT receiver.
///
/// `@unchecked Sendable`: the mutable properties below `queue` belong to that serial queue, on which every
/// method but those of ``OutputAttempt`` runs; what other threads reach is behind `shared` and `wakes`.
final class SRTAttempt: OutputAttempt, @unchecked Sendable {
    struct Shared {
        var isOver = false
        var progress = AttemptProgress()
    }

    enum Phase { case idle, calling, listening, connected, live, draining, lingering, closed }

    /// How often the library is asked whether a call was answered; nothing of ours blocks meanwhile.
    static let pollMilliseconds = 10
    private static let listenMilliseconds = 50
    static let retryMilliseconds = 10
    /// Messages made ahead of the library: enough for a picture, few enough to stop in time.
    static let messagesAhead = 64

    let url: SRTURL
    let packets: PacketQueue
    let streams: StreamDescription
    let report: @Sendable (AttemptEvent) -> Void
    let shared = Mutex(Shared())
    let wakes = Atomic<Bool>(false)
    let queue: DispatchQueue

    var phase = Phase.idle
    var socket: SRTSocket?
    var stream: TransportStream?
    private var addresses: AddressList?
    private var untried: [addrinfo] = []
    private var deadline: Int64 = 0
    var latency = 0
    var isRetrying = false
    var timer: (any DispatchSourceTimer)?
    /// Pictures whose last message is not with the library yet.
    var unsentPictures = 0

    init(
        url: SRTURL, name: String, packets: PacketQueue, description: StreamDescription,
        report: @escaping @Sendable (AttemptEvent) -> Void
    ) {
        self.url = url
        self.packets = packets
        self.report = report
        streams = description
        queue = DispatchQueue(label: "relay.srt.\(name)", qos: .userInitiated)
    }

    var progress: AttemptProgress { shared.withLock { $0.progress } }

    func start() { queue.async { self.begin() } }

    func goLive() {
        queue.async {
            guard self.phase == .connected else { return }
            self.phase = .live
            self.startTimer()
            self.service()
        }
    }

    func wake() {
        if wakes.exchange(true, ordering: .acquiringAndReleasing) { return }
        queue.async {
            self.wakes.store(false, ordering: .releasing)
            self.service()
        }
    }

    func drain(until deadline: Int64) {
        queue.async {
            guard self.phase == .live else { return }
            self.phase = .draining
            self.service()
        }
    }

    func abandon() {
        shared.withLock { $0.isOver = true }
        queue.async { self.close() }
    }
}

// MARK: Connecting

extension SRTAttempt {
    private func begin() {
        guard phase == .idle, !isOver else { return }
        do throws(OutputFailure) {
            tell(.step("resolve"))
            let list = try AddressList(
                host: url.host, port: url.port, type: CInt(SOCK_DGRAM.rawValue), passive: url.mode == .listener)
            addresses = list  // keeps what the entries point to
            untried = list.entries
            guard !isOver else { return }
            switch url.mode {
            case .caller:
                phase = .calling
                tell(.step("connect"))
                try callNext()
            case .listener:
                phase = .listening
                try listen()
            }
        } catch {
            fail(error)
        }
    }

    private func callNext() throws(OutputFailure) {
        guard !untried.isEmpty else {
            throw OutputFailure(.unreachable, step: "connect", reason: "\(url): the name has no address")
        }
        let socket = try SRTSocket(options: url)
        do throws(OutputFailure) {
            try socket.connect(to: untried.removeFirst(), url: url)
        } catch {
            // An address family that the host does not have fails at once; the next address may be of the other.
            guard !untried.isEmpty else { throw error }
            return try callNext()
        }
        self.socket = socket
        deadline = SystemClock().now + (url.connectMilliseconds + 1000) * 1_000_000
        after(Self.pollMilliseconds) { self.checkCall() }
    }

    private func checkCall() {
        guard phase == .calling, let socket else { return }
        if socket.condition == .connected {
            connected(socket)
        } else if socket.condition == .pending, SystemClock().now < deadline {
            after(Self.pollMilliseconds) { self.checkCall() }
        } else {
            let rejection = socket.rejection(of: url)
            guard rejection.kind == .unreachable, !untried.isEmpty else { return fail(rejection) }
            do throws(OutputFailure) { try callNext() } catch { fail(error) }
        }
    }

    private func listen() throws(OutputFailure) {
        guard let address = untried.first else {
            throw OutputFailure(.unreachable, step: "listening", reason: "\(url): nothing to listen at")
        }
        let socket = try SRTSocket(options: url)
        try socket.listen(at: address, url: url)
        self.socket = socket
        tell(.step("listening"))
        after(Self.listenMilliseconds) { self.checkListener() }
    }

    /// A listener that nobody calls waits; it has not failed.
    private func checkListener() {
        guard phase == .listening, let socket else { return }
        if let caller = socket.accept() {
            guard url.streamID == nil || url.streamID == caller.streamID else {
                tell(.notice("a receiver that asked for another stream was sent away"))
                after(Self.listenMilliseconds) { self.checkListener() }
                return
            }
            connected(caller)
        } else if socket.condition == .broken {
            fail(OutputFailure(.unreachable, step: "listening", reason: "\(url): the listening socket broke"))
        } else {
            after(Self.listenMilliseconds) { self.checkListener() }
        }
    }

    private func connected(_ socket: SRTSocket) {
        do throws(MuxerFailure) {
            stream = try TransportStream(description: streams, messageBytes: url.messageBytes)
        } catch {
            return fail(OutputFailure(.rejected, step: "publish", reason: "\(error)"))
        }
        self.socket = socket
        addresses = nil
        untried = []
        latency = socket.receiverLatency
        phase = .connected
        tell(.accepted)
    }
}

// MARK: Ending

extension SRTAttempt {
    func drained() {
        guard phase == .lingering else { return }
        close()
        SRTSocket.afterCloses { self.end(.drained) }
    }

    func fail(_ failure: OutputFailure) {
        guard phase != .closed else { return }
        close()
        end(.failed(failure))
    }

    func close() {
        phase = .closed
        timer?.cancel()
        timer = nil
        socket = nil
        stream = nil
        addresses = nil
    }

    private var isOver: Bool { shared.withLock { $0.isOver } }

    func tell(_ event: AttemptEvent) {
        if !isOver { report(event) }
    }

    /// Reports the end, once, and nothing if the attempt was abandoned.
    func end(_ event: AttemptEvent) {
        let isFirst = shared.withLock { shared in
            defer { shared.isOver = true }
            return !shared.isOver
        }
        if isFirst { report(event) }
    }

    func after(_ milliseconds: Int, _ work: @escaping @Sendable () -> Void) {
        queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds), execute: work)
    }
}
