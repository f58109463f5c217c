// SPDX-License-Identifier: Apache-2.0

public import Archive
internal import Catalogue
internal import Dispatch
internal import Glibc
internal import Logging
public import Segmenter
internal import Synchronization

/// Hands over the finished files of a channel, one at a time and the oldest first: to a remote, or to a command.
///
/// What waits is in the catalogue, so a new run takes it up. Nobody waits for an upload: not the recorder, and not the
/// end after a signal, which ends what runs. A file that fails is tried again after the others; a remote that does not
/// answer is tried for ever, each 5 min at last.
public final class Uploader: RecordingObserver, RetentionVeto {
    private struct State {
        var status = UploadStatus()
        /// When the oldest file that waits was finished.
        var oldest: UTCTime?
        var work: Task<Void, Never>?
        var nap: Task<Void, Never>?
        var isEnding = false
        var isCancelled = false
    }

    /// When nothing more will be recorded, so many failures in a row leave the rest to the next start.
    private static let lastTries = 5

    private let directory: RecordDirectory
    private let channel: String
    private let catalogue: Catalogue
    private let delivery: any SegmentDelivery
    private let sleep: @Sendable (Duration) async -> Void
    private let logger: Logger
    // For what waits for the disk, as the tasks' threads are everybody's.
    private let queue: DispatchQueue
    private let (wakes, waker) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let state = Mutex(State())

    init(
        directory: RecordDirectory, channel: String, catalogue: Catalogue, delivery: any SegmentDelivery,
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }, logger: Logger
    ) {
        self.directory = directory
        self.channel = SegmentName.safe(channel)
        self.catalogue = catalogue
        self.delivery = delivery
        self.sleep = sleep
        self.logger = logger
        queue = DispatchQueue(label: "relay.upload.\(self.channel)", qos: .utility)
    }

    /// Begins with what waits. Returns at once.
    public func start() {
        waker.yield()
        state.withLock { state in
            guard !state.isCancelled else { return }
            state.work = Task.detached(priority: .utility) { [self] in
                for await _ in wakes { await drain() }
                // What came with the end.
                await drain()
            }
        }
    }

    /// Hands over what waits and calls `completion`; gives up when it fails several times. Returns at once.
    public func finish(_ completion: @escaping @Sendable () -> Void) {
        let (work, nap) = state.withLock { state in
            state.isEnding = true
            return (state.work, state.nap)
        }
        waker.finish()
        nap?.cancel()
        Task {
            await work?.value
            completion()
        }
    }

    /// Ends what runs and leaves it to the next start. Returns at once.
    public func cancel() {
        let work = state.withLock { state in
            state.isCancelled = true
            return state.work
        }
        work?.cancel()
    }

    public func segmentFinished(_ record: SegmentRecord) { waker.yield() }
    public func segmentRecovered(fileName: String) { waker.yield() }
    public func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime) {}

    /// Whether the finished file `fileName` may be deleted: it is handed over, or given up. Blocks on the catalogue.
    public func mayDelete(_ fileName: String) -> Bool { !catalogue.needsUpload(fileName) }

    /// A snapshot.
    public var status: UploadStatus {
        let now = UTCTime.now
        return state.withLock { state in
            var status = state.status
            status.oldestWaitingSeconds = state.oldest.map { max(0, Double(now.milliseconds - $0.milliseconds) / 1000) }
            return status
        }
    }
}

// MARK: The work

extension Uploader {
    /// What is known of tries that failed while something waits.
    private struct Round {
        /// Failures in a row.
        var failures = 0
        /// Files that failed since all others were tried.
        var postponed: Set<String> = []
        /// How often each file failed.
        var tries: [String: Int] = [:]
    }

    /// Hands over until nothing waits any more.
    private func drain() async {
        var round = Round()
        while !Task.isCancelled {
            let failure: DeliveryFailure?
            if let backlog = await look(besides: round.postponed) {
                if let segment = backlog.next {
                    failure = await handOver(segment, &round)
                } else if round.postponed.isEmpty {
                    return
                } else {
                    round.postponed = []
                    continue
                }
            } else {
                failure = DeliveryFailure("the catalogue cannot be used now")
                note(failure, of: nil)
            }
            guard failure != nil else { continue }
            round.failures += 1
            guard !Task.isCancelled, await pause(after: round.failures) else { return }
        }
    }

    private func look(besides names: Set<String>) async -> UploadBacklog? {
        let backlog = await withCheckedContinuation { continuation in
            catalogue.uploads(besides: names) { continuation.resume(returning: $0) }
        }
        state.withLock { state in
            state.status.waitingFiles = backlog?.files ?? state.status.waitingFiles
            state.status.waitingBytes = backlog?.bytes ?? state.status.waitingBytes
            if let backlog { state.oldest = backlog.oldestEnd.map(UTCTime.init) }
        }
        return backlog
    }

    private func handOver(_ segment: CatalogueSegment, _ round: inout Round) async -> DeliveryFailure? {
        let name = segment.name
        do throws(DeliveryFailure) {
            guard let lock = try await prepare(name) else {
                logger.notice("not uploaded: the file is gone", metadata: ["segment": "\(name)"])
                catalogue.noteUpload(.none, of: name)
                return nil
            }
            state.withLock { $0.status.current = name }
            defer { state.withLock { $0.status.current = nil } }
            let path = "\(AbsolutePath.of(directory.path))/\(name)"
            let text = try await delivery.deliver(segment, at: path, holding: lock)
            catalogue.noteUpload(.done, of: name)
            succeeded(segment, text)
            round.failures = 0
            return nil
        } catch {
            guard !Task.isCancelled else { return error }
            note(error, of: name)
            round.tries[name, default: 0] += 1
            if let most = delivery.mostTries, round.tries[name, default: 0] >= most {
                giveUp(name)
                return nil
            }
            round.postponed.insert(name)
            return error
        }
    }

    /// Takes the lock; nil if the file is not there any more.
    private func prepare(_ name: String) async throws(DeliveryFailure) -> UploadLock? {
        let result = await withCheckedContinuation { continuation in
            queue.async { [directory, channel] in
                continuation.resume(returning: Result { try Self.prepare(name, directory, channel) })
            }
        }
        do {
            return try result.get()
        } catch {
            throw DeliveryFailure("\(error)")
        }
    }

    private static func prepare(_ name: String, _ directory: RecordDirectory, _ channel: String) throws -> UploadLock? {
        // Under an empty mount point every file is gone.
        try directory.checkMount()
        guard access("\(directory.path)/\(name)", F_OK) == 0 || errno != ENOENT else { return nil }
        guard let lock = try UploadLock(directory: directory.path, channel: channel) else {
            throw DeliveryFailure("another process uploads from \(directory.path)")
        }
        return lock
    }

    private func succeeded(_ segment: CatalogueSegment, _ text: String) {
        state.withLock { state in
            state.status.doneFiles += 1
            state.status.doneBytes += segment.bytes
            state.status.lastError = nil
        }
        logger.info(
            "segment handed over: \(text)", metadata: ["segment": "\(segment.name)", "bytes": "\(segment.bytes)"])
    }

    /// A cause is logged when it is news.
    private func note(_ failure: DeliveryFailure?, of name: String?) {
        guard let text = failure?.description else { return }
        let isNews = state.withLock { state in
            defer { state.status.lastError = text }
            state.status.failures += 1
            return state.status.lastError != text
        }
        let metadata: Logger.Metadata = name.map { ["segment": "\($0)"] } ?? [:]
        logger.log(level: isNews ? .warning : .debug, "upload failed, to be tried again: \(text)", metadata: metadata)
    }

    private func giveUp(_ name: String) {
        catalogue.noteUpload(.none, of: name)
        state.withLock { $0.status.givenUpFiles += 1 }
        logger.error("given up after \(delivery.mostTries ?? 0) tries", metadata: ["segment": "\(name)"])
    }

    /// Waits after so many failures in a row; the end cuts it short. False if the rest is left to the next start.
    private func pause(after failures: Int) async -> Bool {
        // In one step: an end that begins meanwhile finds the nap, or is found by it.
        let nap = state.withLock { state -> Task<Void, Never>? in
            if state.isEnding, failures >= Self.lastTries { return nil }
            let nap = Task { [sleep] in await sleep(RetryDelay.after(failures)) }
            state.nap = nap
            return nap
        }
        guard let nap else {
            logger.warning("what waits for upload is left to the next start")
            return false
        }
        await withTaskCancellationHandler {
            await nap.value
        } onCancel: {
            nap.cancel()
        }
        return true
    }
}
