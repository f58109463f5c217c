// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import Catalogue
internal import Dispatch
internal import Glibc
internal import Logging
internal import Media
package import Segmenter
internal import Synchronization

/// Uploads the finished files of a channel, one at a time and the oldest first: to a remote, or through a command.
///
/// The catalogue stores which files are waiting, so the next run of relay uploads the files that remain. The recorder
/// never waits for uploads. At the program's own end relay waits for them, until several tries in a row have failed; a
/// signal ends the running upload. A file that fails is tried again after the others, at longer and longer intervals of
/// up to 5 min (``RetrySchedule``), until it is uploaded or an operator gives it up. Until then the file must not be
/// deleted: see ``mayDelete(_:)``.
///
/// ```swift
/// let uploader = try Uploader(
///     directory: directory, channel: "studio", catalogue: catalogue,
///     target: .command("/usr/local/bin/archive"), logger: logger)
/// uploader.start()
/// uploader.finish { print("all files are uploaded, or left to the next start") }
/// ```
package final class Uploader: RecordingObserver, RetentionVeto {
    private struct State {
        var status = UploadStatus()
        var schedule = RetrySchedule()
        /// When the oldest waiting file was finished.
        var oldest: UTCTime?
        var work: Task<Void, Never>?
        var nap: Task<Void, Never>?
        /// Whether a file, an operator's order or the end of the recording has come since the waiting files were last
        /// checked, so that the next wait is skipped.
        var isWoken = false
        /// Whether the log already says that a file has failed for a long time.
        var isAlarmed = false
        /// Whether this run leaves the waiting files to the next run of relay.
        var isLeft = false
        var isEnding = false
        var isCancelled = false
    }

    /// After the recording has ended, this many consecutive failures end the uploads, and the remaining files wait for
    /// the next start.
    private static let lastTries = 5
    /// A file that has failed for this long is logged as an error.
    private static let alarmTime: Duration = .seconds(900)

    private let directory: RecordDirectory
    private let channel: String
    private let catalogue: Catalogue
    private let delivery: any SegmentDelivery
    private let sleep: @Sendable (Duration) async -> Void
    private let clock: any MonotonicClock
    private let logger: Logger
    // The queue for calls that wait for the disk. A task must not wait for the disk itself, because all tasks share the
    // threads of Swift concurrency.
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
        logger[metadataKey: LogKey.event] = "\(EventKind.upload.rawValue)"
        self.logger = logger
        queue = DispatchQueue(label: "relay.upload.\(self.channel)", qos: .utility)
    }

    /// Starts to upload the files that are waiting, and later files as they come. Returns at once.
    package func start() {
        waker.yield()
        state.withLock { state in
            guard !state.isCancelled else { return }
            state.work = Task.detached(priority: .utility) { [self] in
                for await _ in wakes { await drain() }
                // Files that arrived after the last wake are uploaded here.
                await drain()
            }
        }
    }

    /// Uploads the waiting files, or stops after several failures, and then calls `completion`. Returns at once.
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

    /// Ends the running upload, and leaves the waiting files to the next start. Returns at once.
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
    package func directoryChanged() { wake() }

    /// Makes the uploader check again for files, even while it waits to retry failed files.
    private func wake() {
        waker.yield()
        state.withLock { state in
            state.isWoken = true
            state.nap?.cancel()
        }
    }

    /// Carries out an operator's order. Returns at once.
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

    /// Whether the finished file `fileName` is allowed to be deleted, because it is uploaded or was given up. Blocks on
    /// the catalogue.
    package func mayDelete(_ fileName: String) -> Bool { !catalogue.needsUpload(fileName) }

    /// A snapshot of the status.
    package var status: UploadStatus {
        let (now, time) = (UTCTime.now, clock.now)
        return state.withLock { state in
            var status = state.status
            status.oldestWaitingSeconds = state.oldest.map { max(0, Double(now.milliseconds - $0.milliseconds) / 1000) }
            let failing = state.schedule.failing
            status.failingFiles = failing.files
            status.failingSeconds = failing.since.map { max(.zero, time - $0).inSeconds }
            return status
        }
    }
}

/// An operator's order. Files are named as in the catalogue.
package enum UploadOrder: Sendable, Equatable {
    /// Immediately try all files that have failed, and all files that were given up and still exist.
    case retryAll
    /// Upload the file now, whether it is waiting, has failed, was given up or was already uploaded.
    case retry(String)
    /// Give the file up: it is not uploaded any more, so that retention is allowed to delete it.
    case giveUp(String)
}

// MARK: The work

extension Uploader {
    /// Uploads files until no file waits, or until the waiting files are left to the next start.
    private func drain() async {
        while !Task.isCancelled, !state.withLock({ $0.isLeft }) {
            let wasWoken = state.withLock { state in
                defer { state.isWoken = false }
                return state.isWoken
            }
            if let pause = state.withLock({ $0.schedule.pause(at: clock.now) }) {
                // New files are queued now, so that they are counted and cannot be deleted during the pause.
                if wasWoken { _ = await look() }
                guard await nap(for: pause) else { return }
                continue
            }
            // The directory's generation is remembered, because it changes if another disk is mounted in place of this
            // one before the file is uploaded. A file that is missing on the other disk is not gone.
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

    /// Returns how many files wait, and which one is next: the oldest file that was not tried yet or, if there is no
    /// such file, the failed file that is due.
    private func look() async -> UploadBacklog? {
        let (tried, due) = state.withLock { ($0.schedule.tried, $0.schedule.next(at: clock.now)) }
        var backlog = await look(besides: tried)
        if let looked = backlog, looked.next == nil, let due {
            backlog = await look(besides: tried.subtracting([due]))
            // The failed file was deleted or is on another disk, so its failures are forgotten.
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
            let delivered = try await delivery.deliver(segment, at: path, holding: lock)
            // If the disk has changed, the result is not recorded: the catalogue of another disk can use the same name
            // for another file.
            guard directory.generation == generation else { return }
            catalogue.noteUploaded(segment, to: delivered.place)
            succeeded(segment, delivered.text)
        } catch {
            guard !Task.isCancelled else { return }
            note(error, of: name)
        }
    }

    /// Takes the channel's upload lock; returns nil if the file `name` no longer exists.
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
        // This throws if the disk is not mounted, because every file would then seem to be gone.
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

    /// Records a failed or postponed try, and logs it. A failure with the same cause as the last one is logged at debug
    /// level only, and so is a file that is postponed again. If a file has failed for longer than ``alarmTime``, this
    /// is logged as an error once.
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

    /// Waits for `time`. A call of ``finish(_:)``, an operator's order or a new file interrupts the wait. Returns false
    /// if the waiting files are left to the next start.
    private func nap(for time: Duration) async -> Bool {
        // The check and the start of the wait happen under one lock. If ``finish(_:)`` is called at this moment, the
        // call either interrupts the wait or is noticed by this check.
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
