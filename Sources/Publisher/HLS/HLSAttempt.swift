// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import HLS
internal import LibAV
internal import Media
internal import Networking
internal import Synchronization

/// One attempt to write HLS to a directory. It ends when writing fails or the output ends.
///
/// A file system may block the attempt's queue forever. A deadline then reports the failure, and no other thread waits
/// for the queue.
actor HLSAttempt: ServingAttempt {
    private struct Shared {
        var isAccepted = false
        var progress = AttemptProgress()
        /// When the write in progress began; nil while nothing is being written.
        var busySince: MonotonicInstant?
    }

    private enum Phase { case idle, open, live, draining, closed }

    /// The maximum time for opening the directory.
    private static let openTimeout = Duration.seconds(10)
    /// The maximum time for writing one packet, or the remaining data at the end. After that the output counts as lost.
    private static let writeTimeout = Duration.seconds(15)

    private let location: HLSLocation
    private let directory: RealDirectory
    private let options: HLSOptions
    nonisolated let context: AttemptContext
    private let shared = Mutex(Shared())

    private var phase = Phase.idle
    private var writer: HLSWriter?
    private var endReason = EndReason.interrupted

    init(
        location: HLSLocation, directory: RealDirectory, options: HLSOptions, context: consuming AttemptContext
    ) {
        self.location = location
        self.directory = directory
        self.options = options
        self.context = context
    }

    nonisolated var progress: AttemptProgress { shared.withLock { $0.progress } }

    nonisolated func start() {
        report.tell(.step("open"))
        post { $0.begin() }
        let wait = DispatchTimeInterval.nanoseconds(Int(Self.openTimeout.inNanoseconds))
        DispatchQueue.global().asyncAfter(deadline: .now() + wait) { [weak self] in
            self?.openingIsDue()
        }
    }

    nonisolated func goLive() { post { $0.enter(.live, from: .open) } }

    nonisolated func wake() {
        if isStuck { return endIfStuck() }
        serveSoon()
    }

    nonisolated func drain(until deadline: MonotonicInstant, reason: EndReason) {
        post { attempt in
            attempt.endReason = reason
            attempt.enter(.draining, from: .live)
        }
        watch(until: deadline)
    }
}

extension HLSAttempt {
    func begin() {
        guard phase == .idle, !report.isOver else { return }
        directory.noteOpening()
        do throws(OutputFailure) {
            writer = try HLSWriter(location.path, options, streams)
            phase = .open
            shared.withLock { $0.isAccepted = true }
            report.tell(.accepted)
        } catch {
            fail(error)
        }
    }

    private func enter(_ next: Phase, from last: Phase) {
        guard phase == last else { return }
        phase = next
        serve()
    }

    func serve() {
        guard phase == .live || phase == .draining, let writer else { return }
        defer { shared.withLock { $0.busySince = nil } }
        do throws(OutputFailure) {
            while !report.isOver, let packet = packets.pop() {
                noteBusy(with: packet)
                try writer.write(packet)
            }
            if phase == .draining, !report.isOver {
                noteBusy()
                try writer.finish(isProgramOver: endReason == .programOver)
                account(writer)
                return drained()
            }
        } catch {
            // The written frames are counted before the end is reported, because frames that are not in a file by then
            // count as dropped.
            account(writer)
            // The output was on air, so a directory that is no longer reachable counts as a lost connection.
            let kind = error.kind == .unreachable ? .lost : error.kind
            return fail(OutputFailure(kind, step: "write", reason: error.reason))
        }
        account(writer)
    }

    /// Records that a write begins: the write of `packet`, or at the end the write of the remaining data. Counts a
    /// frame as waiting until it is written.
    private func noteBusy(with packet: EncodedPacket? = nil) {
        let (now, frames) = (clock.now, packet?.track == .video ? 1 : 0)
        shared.withLock { shared in
            shared.busySince = now
            shared.progress.waitingFrames += frames
        }
    }

    private func account(_ writer: HLSWriter) {
        if writer.wantsKeyframe {
            writer.wantsKeyframe = false
            report.tell(.keyframeIsDue)
        }
        shared.withLock { shared in
            shared.progress.bytes = writer.bytes
            shared.progress.waitingFrames -= Int(writer.frames - shared.progress.frames)
            shared.progress.frames = writer.frames
            shared.progress.details.set(.segments, to: Double(writer.segments))
        }
    }

    private nonisolated var isStuck: Bool {
        let now = clock.now
        return !report.isOver
            && shared.withLock { $0.busySince.map { now - $0 > Self.writeTimeout } ?? false }
    }

    private nonisolated func endIfStuck() {
        guard isStuck else { return }
        report.end(.failed(silence(.lost, "write", Self.writeTimeout)))
    }

    /// Checks once per second until `deadline` whether a write hangs. At the program's end no packet comes, and no
    /// other code checks for hanging writes.
    private nonisolated func watch(until deadline: MonotonicInstant) {
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in
            guard let self, !report.isOver, clock.now < deadline else { return }
            endIfStuck()
            watch(until: deadline)
        }
    }

    private nonisolated func openingIsDue() {
        guard !report.isOver, !shared.withLock({ $0.isAccepted }) else { return }
        report.end(.failed(silence(.unreachable, "open", Self.openTimeout)))
    }

    private nonisolated func silence(_ kind: OutputFailure.Kind, _ step: String, _ timeout: Duration) -> OutputFailure {
        OutputFailure(
            kind, step: step,
            reason: "\(location.path): the file system does not answer within \(timeout.components.seconds) s")
    }

    /// Closes the attempt. The writer is released, and data that is not in a published segment is dropped.
    func close() {
        phase = .closed
        writer = nil
    }
}
