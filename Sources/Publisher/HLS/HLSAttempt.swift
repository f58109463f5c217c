// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import HLS
internal import LibAV
internal import Media
internal import Network
internal import Synchronization

/// One attempt to write HLS into a directory.
///
/// `@unchecked Sendable`: `phase`, `writer` and `endReason` belong to the serial `queue`, on which every method but those of
/// ``OutputAttempt`` runs; what other threads reach is behind `shared`, `report` and `wakes`. The queue may be blocked for good by
/// a file system; then a deadline reports for it, and nobody waits for it.
final class HLSAttempt: OutputAttempt, PacketServer, @unchecked Sendable {
    private struct Shared {
        var isAccepted = false
        var progress = AttemptProgress()
        /// Since when the queue writes, in monotonic nanoseconds.
        var busySince: Int64?
    }

    private enum Phase { case idle, open, live, draining, closed }

    /// How long the file system may take to open the directory.
    private static let openSeconds = 10
    /// How long one frame's writing may take before the output counts as lost.
    private static let writeNanoseconds: Int64 = 15_000_000_000

    private let location: HLSLocation
    private let options: HLSOptions
    private let queue: DispatchQueue
    private let packets: PacketQueue
    private let streams: StreamDescription
    private let report: AttemptReport
    private let clock = SystemClock()
    private let shared = Mutex(Shared())
    private let wakes = Atomic<Bool>(false)

    private var phase = Phase.idle
    private var writer: HLSWriter?
    private var endReason = EndReason.interrupted

    init(
        location: HLSLocation, options: HLSOptions, queue: DispatchQueue, packets: PacketQueue,
        description: StreamDescription, report: @escaping @Sendable (AttemptEvent) -> Void
    ) {
        self.location = location
        self.options = options
        self.queue = queue
        self.packets = packets
        self.report = AttemptReport(report)
        streams = description
    }

    var progress: AttemptProgress { shared.withLock { $0.progress } }

    func start() {
        report.tell(.step("open"))
        queue.async { self.begin() }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Self.openSeconds)) { [weak self] in
            self?.openingIsDue()
        }
    }

    func goLive() {
        queue.async {
            guard self.phase == .open else { return }
            self.phase = .live
            self.service()
        }
    }

    var server: any PacketServer { self }

    func wake() {
        if isStuck { return endIfStuck() }
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
            self.endReason = reason
            self.service()
        }
        watch(until: deadline)
    }

    func abandon() {
        report.silence()
        queue.async { self.close() }
    }
}

extension HLSAttempt {
    private func begin() {
        guard phase == .idle, !report.isOver else { return }
        do throws(EndpointFailure) {
            writer = try HLSWriter(location.path, options, streams)
            phase = .open
            shared.withLock { $0.isAccepted = true }
            report.tell(.accepted)
        } catch {
            fail(OutputFailure(error))
        }
    }

    private func service() {
        dispatchPrecondition(condition: .onQueue(queue))
        guard phase == .live || phase == .draining, let writer else { return }
        defer { shared.withLock { $0.busySince = nil } }
        do throws(EndpointFailure) {
            while !report.isOver, let packet = packets.pop() {
                noteBusy()
                try writer.write(packet)
            }
            if phase == .draining, !report.isOver {
                noteBusy()
                try writer.finish(isProgramOver: endReason == .programOver)
                account(writer)
                close()
                return report.end(.drained)
            }
        } catch {
            // It was on air, whatever the cause.
            let kind = error.kind == .unreachable ? .lost : error.kind
            return fail(OutputFailure(EndpointFailure(kind, step: "write", reason: error.reason)))
        }
        account(writer)
    }

    private func noteBusy() {
        let now = clock.now
        shared.withLock { $0.busySince = now }
    }

    private func account(_ writer: HLSWriter) {
        if writer.wantsKeyframe {
            writer.wantsKeyframe = false
            report.tell(.keyframeIsDue)
        }
        shared.withLock { shared in
            shared.progress.bytes = writer.bytes
            shared.progress.frames = writer.frames
            shared.progress.details["segments"] = Double(writer.segments)
        }
    }

    private var isStuck: Bool {
        let now = clock.now
        return !report.isOver
            && shared.withLock { $0.busySince.map { now - $0 > Self.writeNanoseconds } ?? false }
    }

    private func endIfStuck() {
        guard isStuck else { return }
        report.end(.failed(silence(.lost, "write", seconds: Self.writeNanoseconds / 1_000_000_000)))
    }

    /// At the end nobody wakes the attempt any more, so it looks once a second itself.
    private func watch(until deadline: Int64) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in
            guard let self, !report.isOver, clock.now < deadline else { return }
            endIfStuck()
            watch(until: deadline)
        }
    }

    private func openingIsDue() {
        guard !report.isOver, !shared.withLock({ $0.isAccepted }) else { return }
        report.end(.failed(silence(.unreachable, "open", seconds: Int64(Self.openSeconds))))
    }

    private func silence(_ kind: OutputFailure.Kind, _ step: String, seconds: Int64) -> OutputFailure {
        OutputFailure(
            kind, step: step, reason: "\(location.path): the file system does not answer within \(seconds) s")
    }

    private func fail(_ failure: OutputFailure) {
        guard phase != .closed else { return }
        close()
        report.end(.failed(failure))
    }

    /// What is not published goes with the writer.
    private func close() {
        phase = .closed
        writer = nil
    }
}
