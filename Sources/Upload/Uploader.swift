// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import Catalogue
internal import Dispatch
internal import Glibc
internal import Logging
internal import Media
package import Segmenter
internal import Synchronization

/// Hands over the finished files of a channel, one at a time and the oldest first: to a remote, or to a command.
///
/// What waits is in the catalogue, so a new run takes it up. Nothing waits for an upload: the recorder does not, and
/// neither does the end after a signal, which ends what runs. A file that fails is tried again after the others, until
/// it is handed over or an operator gives it up, in the end every 5 min (``RetrySchedule``). It is held until then: see
/// ``mayDelete(_:)``.
package final class Uploader: RecordingObserver, RetentionVeto {
    private struct State {
        var status = UploadStatus()
        var schedule = RetrySchedule()
        /// When the oldest file that waits was finished.
        var oldest: UTCTime?
        var work: Task<Void, Never>?
        var nap: Task<Void, Never>?
        /// Whether something has come since the last look: the next nap is left out.
        var isWoken = false
        /// Whether the log has it that a file fails for long.
        var isAlarmed = false
        /// Whether what waits is left to the next start.
        var isLeft = false
        var isEnding = false
        var isCancelled = false
    }

    /// When nothing more will be recorded, so many failures in a row leave the rest to the next start.
    private static let lastTries = 5
    /// A file that has failed for so long is an error in the log: 15 min, in nanoseconds.
    private static let alarmTime: Int64 = 900_000_000_000

    private let directory: RecordDirectory
    private let channel: String
    private let catalogue: Catalogue
    private let delivery: any SegmentDelivery
    private let sleep: @Sendable (Duration) async -> Void
    private let clock: any MonotonicClock
    private let logger: Logger
    // For what waits for the disk, as the tasks' threads are everybody's.
    private let queue: DispatchQueue
    private let (wakes, waker) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let state = Mutex(State())

    init(
        directory: RecordDirectory, channel: String, catalogue: Catalogue, delivery: any SegmentDelivery,
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) },
        clock: any MonotonicClock = SystemClock(), logger: Logger
    ) {
        self.directory = directory
        self.channel = SegmentName.safe(channel)
        self.catalogue = catalogue
        self.delivery = delivery
        self.sleep = sleep
        self.clock = clock
        var logger = logger
        logger[metadataKey: LogKey.event] = "upload"
        self.logger = logger
        queue = DispatchQueue(label: "relay.upload.\(self.channel)", qos: .utility)
    }

    /// Begins with what waits. Returns at once.
    package func start() {
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
    package func finish(_ completion: @escaping @Sendable () -> Void) {
        let work = state.withLock { state in
            (state.isEnding, state.isWoken) = (true, true)
            state.schedule.hurry()
            state.nap?.cancel()
            return state.work
        }
        waker.finish()
        Task {
            await work?.value
            completion()
        }
    }

    /// Ends what runs and leaves it to the next start. Returns at once.
    package func cancel() {
        let work = state.withLock { state in
            state.isCancelled = true
            return state.work
        }
        work?.cancel()
    }

    package func segmentFinished(_ record: SegmentRecord) { wake() }
    package func segmentRecovered(fileName: String) { wake() }
    package func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime) {}

    /// Looks again for what may be handed over, also while the files that fail are waited for.
    private func wake() {
        waker.yield()
        state.withLock { state in
            state.isWoken = true
            state.nap?.cancel()
        }
    }

    /// Does what an operator asks for. Returns at once.
    package func perform(_ order: UploadOrder) {
        switch order {
        case .retryAll: catalogue.queueGivenUp { [weak self] in self?.hurry() }
        case .retry(let name):
            catalogue.noteUpload(.waiting, of: name)
            hurry()
        case .giveUp(let name):
            catalogue.noteUpload(.none, of: name)
            state.withLock { state in
                state.schedule.forget(name)
                state.status.givenUpFiles += 1
                if state.schedule.failing.files == 0 { state.status.lastError = nil }
            }
            hurry()
        }
    }

    private func hurry() {
        state.withLock { $0.schedule.hurry() }
        wake()
    }

    /// Whether the finished file `fileName` may be deleted: it is handed over, or an operator gave it up. Blocks on the
    /// catalogue.
    package func mayDelete(_ fileName: String) -> Bool { !catalogue.needsUpload(fileName) }

    /// A snapshot.
    package var status: UploadStatus {
        let (now, time) = (UTCTime.now, clock.now)
        return state.withLock { state in
            var status = state.status
            status.oldestWaitingSeconds = state.oldest.map { max(0, Double(now.milliseconds - $0.milliseconds) / 1000) }
            let failing = state.schedule.failing
            status.failingFiles = failing.files
            status.failingSeconds = failing.since.map { Double(max(0, time - $0)) / 1e9 }
            return status
        }
    }
}

/// What an operator may ask of uploads. Files are named as the catalogue does.
package enum UploadOrder: Sendable, Equatable {
    /// Everything that fails, or was given up and is still there, is tried at once.
    case retryAll
    /// The file is handed over now, whatever became of that before.
    case retry(String)
    /// The file is not handed over: it may be deleted.
    case giveUp(String)
}

// MARK: The work

extension Uploader {
    /// Hands over until nothing waits any more.
    private func drain() async {
        while !Task.isCancelled, !state.withLock({ $0.isLeft }) {
            state.withLock { $0.isWoken = false }
            if let pause = state.withLock({ $0.schedule.pause(at: clock.now) }) {
                guard await nap(for: pause) else { return }
                continue
            }
            // A file that was found on one disk is not gone because another one is mounted in its place meanwhile.
            let generation = directory.generation
            guard let backlog = await look() else {
                note(DeliveryFailure("the catalogue cannot be used now"), of: nil)
                continue
            }
            if let segment = backlog.next {
                await handOver(segment, foundIn: generation)
            } else {
                let rest = state.withLock { $0.schedule.rest(at: clock.now) }
                guard backlog.files > 0, let rest else { return }
                if rest > .zero {
                    guard await nap(for: rest) else { return }
                }
            }
        }
    }

    /// What waits. Next is the oldest file that was not tried yet, or else the one whose turn it is to be tried again.
    private func look() async -> UploadBacklog? {
        let (tried, due) = state.withLock { ($0.schedule.tried, $0.schedule.next(at: clock.now)) }
        var backlog = await look(besides: tried)
        if let looked = backlog, looked.next == nil, let due {
            backlog = await look(besides: tried.subtracting([due]))
            // It was deleted, or it is on another disk.
            if let backlog, backlog.next == nil { state.withLock { $0.schedule.forget(due) } }
        }
        state.withLock { state in
            state.status.waitingFiles = backlog?.files ?? state.status.waitingFiles
            state.status.waitingBytes = backlog?.bytes ?? state.status.waitingBytes
            if let backlog { state.oldest = backlog.oldestEnd.map(UTCTime.init) }
        }
        return backlog
    }

    private func look(besides names: Set<String>) async -> UploadBacklog? {
        await withCheckedContinuation { continuation in
            catalogue.uploads(besides: names) { continuation.resume(returning: $0) }
        }
    }

    private func handOver(_ segment: CatalogueSegment, foundIn generation: Int) async {
        let name = segment.name
        do throws(DeliveryFailure) {
            guard let lock = try await prepare(name) else {
                guard directory.generation == generation else { return }
                logger.notice("not uploaded: the file is gone", metadata: ["segment": "\(name)"])
                catalogue.noteUpload(.none, of: name)
                return state.withLock { $0.schedule.forget(name) }
            }
            state.withLock { $0.status.current = name }
            defer { state.withLock { $0.status.current = nil } }
            let path = "\(AbsolutePath.of(directory.path))/\(name)"
            let text = try await delivery.deliver(segment, at: path, holding: lock)
            // The catalogue of another disk may name another file so.
            guard directory.generation == generation else { return }
            catalogue.noteUpload(.done, of: name)
            succeeded(segment, text)
        } catch {
            guard !Task.isCancelled else { return }
            note(error, of: name)
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
        let failedTries = state.withLock { state in
            state.status.doneFiles += 1
            state.status.doneBytes += segment.bytes
            state.status.lastError = nil
            defer { state.schedule.noteSuccess(of: segment.name) }
            return state.schedule.tries(of: segment.name)
        }
        logger.info(
            "segment handed over\(failedTries > 0 ? " at try \(failedTries + 1)" : ""): \(text)",
            metadata: ["segment": "\(segment.name)", "bytes": "\(segment.bytes)"])
    }

    /// A cause is logged when it is news, and as an error each time that the longest failure of a file passes
    /// ``alarmTime``.
    private func note(_ failure: DeliveryFailure, of name: String?) {
        let (text, now) = (failure.description, clock.now)
        let metadata: Logger.Metadata = name.map { ["segment": "\($0)"] } ?? [:]
        let (isNews, isAlarm) = state.withLock { state in
            let isNews = failure.isLater ? state.schedule.tries(of: name ?? "") == 0 : state.status.lastError != text
            let before = state.schedule.failing.since
            state.schedule.noteFailedTry(of: name, isLater: failure.isLater, at: now)
            if !failure.isLater {
                state.status.failures += 1
                state.status.lastError = text
            }
            let isLong = before.map { now - $0 >= Self.alarmTime } ?? false
            defer { state.isAlarmed = isLong }
            return (isNews, isLong && !state.isAlarmed)
        }
        if failure.isLater {
            logger.log(level: isNews ? .info : .debug, "upload put off, as was asked for: \(text)", metadata: metadata)
        } else if isAlarm {
            logger.error("upload fails for 15 min, and is tried again until it succeeds: \(text)", metadata: metadata)
        } else {
            logger.log(
                level: isNews ? .warning : .debug, "upload failed, to be tried again: \(text)", metadata: metadata)
        }
    }

    /// Waits so long; the end, an operator and a new file cut it short. False if the rest is left to the next start.
    private func nap(for time: Duration) async -> Bool {
        // In one step: an end that begins meanwhile finds the nap, or is found by it.
        let (nap, isNews) = state.withLock { state -> (Task<Void, Never>?, Bool) in
            if state.isEnding, state.schedule.failedTries >= Self.lastTries {
                defer { state.isLeft = true }
                return (nil, !state.isLeft)
            }
            if state.isWoken { return (nil, false) }
            let nap = Task { [sleep] in await sleep(time) }
            state.nap = nap
            return (nap, false)
        }
        guard let nap else {
            if isNews { logger.warning("what waits for upload is left to the next start") }
            return !state.withLock { $0.isLeft }
        }
        await withTaskCancellationHandler {
            await nap.value
        } onCancel: {
            nap.cancel()
        }
        return true
    }
}
