// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import Glibc
internal import LibAV
internal import Media
internal import Synchronization

/// One attempt to send to an SRT receiver.
///
/// `@unchecked Sendable`: the mutable properties below `queue` belong to that serial queue, on which every private
/// method runs; what other threads reach is behind `shared` and `wakes`.
final class SRTAttempt: OutputAttempt, @unchecked Sendable {
    private struct Shared {
        var isOver = false
        var progress = AttemptProgress()
    }

    private enum Phase { case idle, calling, listening, connected, live, draining, lingering, closed }

    /// How often the library is asked whether a call was answered; nothing of ours blocks meanwhile.
    private static let pollMilliseconds = 10
    private static let listenMilliseconds = 50
    private static let retryMilliseconds = 10
    /// Messages made ahead of the library: enough for a picture, few enough to stop in time.
    private static let messagesAhead = 64

    private let url: SRTURL
    private let packets: PacketQueue
    private let streams: StreamDescription
    private let report: @Sendable (AttemptEvent) -> Void
    private let shared = Mutex(Shared())
    private let wakes = Atomic<Bool>(false)
    private let queue: DispatchQueue

    private var phase = Phase.idle
    private var socket: SRTSocket?
    private var stream: TransportStream?
    private var addresses: AddressList?
    private var untried: [addrinfo] = []
    private var deadline: Int64 = 0
    private var latency = 0
    private var isRetrying = false
    private var timer: (any DispatchSourceTimer)?
    /// Pictures whose last message is not with the library yet.
    private var unsentPictures = 0

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
        try socket.connect(to: untried.removeFirst(), url: url)
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

// MARK: Sending

extension SRTAttempt {
    /// Media that the library may hold before the queue's policy has to deal with the rest.
    private var maximumBuffer: Int { max(1000, 2 * latency) }

    private func service() {
        dispatchPrecondition(condition: .onQueue(queue))
        guard phase == .live || phase == .draining, let socket, let stream else { return }
        repeat {
            guard flush(stream, to: socket) else { return }
            if socket.sendBuffer.milliseconds > maximumBuffer { return retryLater() }
            guard fill(stream) else { return }
        } while stream.count > 0
        if phase == .draining { leave(stream, socket) }
    }

    /// Makes messages of what is queued, up to a bound. False after a failure.
    private func fill(_ stream: TransportStream) -> Bool {
        do throws(MuxerFailure) {
            while stream.count < Self.messagesAhead {
                guard let packet = packets.pop() else {
                    stream.flush()
                    break
                }
                try stream.write(packet)
                if packet.track == .video { unsentPictures += 1 }
            }
            return true
        } catch {
            fail(OutputFailure(.lost, step: "send", reason: "\(error)"))
            return false
        }
    }

    /// Hands messages to the library until none is left. False when it would block or the connection broke.
    private func flush(_ stream: TransportStream, to socket: SRTSocket) -> Bool {
        var bytes = 0
        defer { account(bytes: bytes, isComplete: stream.count == 0) }
        while let message = stream.first {
            switch socket.send(message) {
            case .sent:
                bytes += message.count
                stream.removeFirst()
            case .wouldBlock:
                retryLater()
                return false
            case .failed(let reason):
                fail(OutputFailure(.lost, step: "send", reason: url.masking("\(url): \(reason)")))
                return false
            }
        }
        return true
    }

    private func account(bytes: Int, isComplete: Bool) {
        guard bytes > 0 else { return }
        let pictures = isComplete ? unsentPictures : 0
        unsentPictures -= pictures
        shared.withLock { shared in
            shared.progress.bytes += UInt64(bytes)
            shared.progress.frames += UInt64(pictures)
        }
    }

    private func retryLater() {
        guard !isRetrying else { return }
        isRetrying = true
        after(Self.retryMilliseconds) {
            self.isRetrying = false
            self.service()
        }
    }

    /// Once a second: numbers for display, and whether the connection still stands.
    private func startTimer() {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + 1, repeating: 1, leeway: .milliseconds(100))
        timer.setEventHandler { [weak self] in self?.inspect() }
        timer.activate()
        self.timer = timer
    }

    private func inspect() {
        guard phase == .live || phase == .draining, let socket else { return }
        guard socket.condition != .broken else {
            return fail(OutputFailure(.lost, step: "send", reason: "\(url): the receiver is gone"))
        }
        let details = socket.details()
        shared.withLock { $0.progress.details = details }
    }
}

// MARK: Ending

extension SRTAttempt {
    private func leave(_ stream: TransportStream, _ socket: SRTSocket) {
        do throws(MuxerFailure) { try stream.finish() } catch { tell(.notice("\(error)")) }
        guard flush(stream, to: socket) else { return }
        phase = .lingering
        awaitReceipt()
    }

    /// A receiver drops at the close what it has not played out yet, so the close waits until everything is
    /// acknowledged and then for the receiver's latency.
    private func awaitReceipt() {
        guard phase == .lingering, let socket else { return }
        if socket.condition == .broken { return drained() }
        if socket.sendBuffer.bytes > 0 {
            after(Self.pollMilliseconds) { self.awaitReceipt() }
        } else {
            after(latency + 50) { self.drained() }
        }
    }

    private func drained() {
        guard phase == .lingering else { return }
        close()
        end(.drained)
    }

    private func fail(_ failure: OutputFailure) {
        guard phase != .closed else { return }
        close()
        end(.failed(failure))
    }

    private func close() {
        phase = .closed
        timer?.cancel()
        timer = nil
        socket = nil
        stream = nil
        addresses = nil
    }

    private var isOver: Bool { shared.withLock { $0.isOver } }

    private func tell(_ event: AttemptEvent) {
        if !isOver { report(event) }
    }

    /// Reports the end, once, and nothing if the attempt was abandoned.
    private func end(_ event: AttemptEvent) {
        let isFirst = shared.withLock { shared in
            defer { shared.isOver = true }
            return !shared.isOver
        }
        if isFirst { report(event) }
    }

    private func after(_ milliseconds: Int, _ work: @escaping @Sendable () -> Void) {
        queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds), execute: work)
    }
}
