// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import Glibc
internal import LibAV
internal import Media
internal import Network
internal import Synchronization

/// One attempt to send an MPEG transport stream by UDP.
///
/// UDP knows no peer: the output is live as soon as there is a way to the address, and stays so whether anybody listens
/// or not; what the network says against single datagrams is counted. Only when there is no way is the attempt over.
///
/// `@unchecked Sendable`: the mutable properties below `queue` belong to that serial queue, on which every
/// method but those of ``OutputAttempt`` runs; what other threads reach is behind `sent`, `report` and `wakes`.
final class UDPAttempt: OutputAttempt, PacketServer, @unchecked Sendable {
    enum Phase { case idle, connected, live, draining, closed }

    let url: UDPURL
    let packets: PacketQueue
    let clock = SystemClock()
    private let streams: StreamDescription
    let report: AttemptReport
    let sent = Mutex(AttemptProgress())
    private let wakes = Atomic<Bool>(false)
    let queue: DispatchQueue

    var phase = Phase.idle
    var socket: UDPSocket?
    var stream: TransportStream?
    var pacing: UDPPacing
    var timer: (any DispatchSourceTimer)?
    /// Frames whose last datagram is not sent yet.
    var unsentFrames = 0
    var lostDatagrams = 0
    /// When the operator was last told of lost datagrams.
    var lastNotice: Int64?

    init(
        url: UDPURL, name: String, packets: PacketQueue, description: StreamDescription,
        report: @escaping @Sendable (AttemptEvent) -> Void
    ) {
        self.url = url
        self.packets = packets
        self.report = AttemptReport(report)
        streams = description
        let frame = description.video.format.frameRate.timeBase.rescale(1, to: .nanoseconds)
        pacing = UDPPacing(frameNanoseconds: frame)
        queue = DispatchQueue(label: "relay.udp.\(name)", qos: .userInitiated)
    }

    var progress: AttemptProgress { sent.withLock { $0 } }

    func start() { queue.async { self.begin() } }

    func goLive() {
        queue.async {
            guard self.phase == .connected else { return }
            self.phase = .live
            self.service()
        }
    }

    var server: any PacketServer { self }

    func wake() {
        if wakes.exchange(true, ordering: .acquiringAndReleasing) { return }
        queue.async {
            self.wakes.store(false, ordering: .releasing)
            self.service()
        }
    }

    func drain(until deadline: Int64, reason: EndReason) {
        queue.async {
            guard self.phase == .live else { return }
            self.phase = .draining
            self.service()
        }
    }

    func abandon() {
        report.silence()
        queue.async { self.close() }
    }
}

extension UDPAttempt {
    private func begin() {
        guard phase == .idle, !report.isOver else { return }
        report.tell(.step("resolve"))
        HostResolver.shared.resolve(url.host, port: url.port) { answer in
            self.queue.async { self.resolved(answer) }
        }
    }

    private func resolved(_ answer: HostResolver.Answer) {
        guard phase == .idle, !report.isOver else { return }
        do throws(EndpointFailure) {
            let addresses = try answer.get()
            report.tell(.step("connect"))
            socket = try UDPSocket.open(url, addresses)
            stream = try makeStream()
            phase = .connected
            report.tell(.accepted)
        } catch {
            fail(OutputFailure(error))
        }
    }

    private func makeStream() throws(EndpointFailure) -> TransportStream {
        do throws(AVFailure) {
            return try TransportStream(description: streams, messageBytes: url.datagramBytes)
        } catch {
            throw EndpointFailure(.rejected, step: "publish", reason: "\(error)")
        }
    }

    func fail(_ failure: OutputFailure) {
        guard phase != .closed else { return }
        close()
        report.end(.failed(failure))
    }

    func close() {
        phase = .closed
        timer?.cancel()
        timer = nil
        socket = nil
        stream = nil
    }
}
