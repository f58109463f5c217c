// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
internal import Glibc
internal import Logging
internal import MP4
internal import Media
internal import Synchronization

/// Closes files on its own queue, so that waiting for the disk does not delay the next file.
///
/// A file that cannot be closed keeps its open name. The closer tries to close such a file again in ``retry()``, in
/// ``whenIdle(_:_:)`` and, at most once a minute, after another file was closed successfully.
final class SegmentCloser: Sendable {
    /// Moves a file from the recorder's queue to the closer's.
    ///
    /// Sending this value is safe: the recorder gives up its only reference when it makes a handover, so that only one
    /// queue holds the file at a time.
    private struct Handover: @unchecked Sendable {
        let file: SegmentFile
    }

    /// How much work the closer still has.
    struct Backlog: Sendable, Equatable {
        /// The number of files that wait to be closed.
        var waiting = 0
        /// The number of files so far whose closing was postponed because too many others were waiting.
        var hurried = 0
        /// Whether a file could not be closed, so that closing it must be tried again.
        var isUnfinished = false
    }

    /// If more files than this wait, the closer only writes a file's index, which releases the memory of the file's
    /// tables. It does the work that has to wait for the disk when no other file waits.
    static let patience = 8
    /// The maximum number of postponed files, because each one keeps a file descriptor open.
    private static let mostPostponed = 64

    /// The minimum time between two automatic attempts to close files that could not be closed, because an attempt can
    /// read hours of media.
    private static let retryInterval: Duration = .seconds(60)

    private let queue: DispatchQueue
    private let group = DispatchGroup()
    private let directory: RecordDirectory
    private let channel: String
    private let status: RecorderStatusBox
    private let logger: Logger
    private let observers: [any RecordingObserver]
    private let synchroniser: FileSynchroniser?
    private let clock: any MonotonicClock
    private let nextRetry = Mutex(MonotonicInstant.distantPast)
    private let state = Mutex(Backlog())
    private let postponed = Mutex<[Handover]>([])
    /// For each file that could not be closed, by its open name: the record of what was written to it.
    private let unconfirmed = Mutex<[String: SegmentRecord]>([:])

    /// Creates a closer for the files of `channel` in `directory`. `synchroniser` has made these files durable while
    /// they were open. Tests pass their own serial `queue`.
    init(
        directory: RecordDirectory, channel: String, status: RecorderStatusBox,
        observers: [any RecordingObserver] = [], synchroniser: FileSynchroniser? = nil,
        clock: any MonotonicClock = SystemClock(), logger: Logger, queue: DispatchQueue? = nil
    ) {
        self.queue = queue ?? DispatchQueue(label: "relay.recorder.\(channel).close")
        self.directory = directory
        self.channel = channel
        self.status = status
        self.observers = observers
        self.synchroniser = synchroniser
        self.clock = clock
        self.logger = logger
    }

    /// How much work the closer still has now.
    var backlog: Backlog { state.withLock { $0 } }

    /// Closes `file`, which the caller must not touch any more.
    func close(_ file: consuming SegmentFile) {
        let handover = Handover(file: file)
        state.withLock { $0.waiting += 1 }
        queue.async(group: group) { self.finish(handover.file) }
    }

    /// Tries again to close files that could not be closed, in this run or an earlier one. Returns at once.
    func retry() { queue.async(group: group) { self.recover() } }

    private func finish(_ file: SegmentFile) {
        let isHurried = state.withLock { state in
            let isHurried = state.waiting > Self.patience
            state.hurried += isHurried ? 1 : 0
            state.waiting -= 1
            return isHurried
        }
        if isHurried { return postpone(file) }
        complete(file)
        guard backlog.waiting == 0 else { return }
        let late = postponed.withLock { postponed in
            defer { postponed.removeAll() }
            return postponed
        }
        for handover in late { complete(handover.file) }
    }

    /// Writes the file's index now, and completes the file when no other file waits. If too many files are postponed,
    /// ``retry()`` completes this file later.
    private func postpone(_ file: SegmentFile) {
        do throws(FileFailure) {
            try file.appendIndex()
        } catch {
            return failed(file, error)
        }
        let isTaken = postponed.withLock { postponed in
            guard postponed.count < Self.mostPostponed else { return false }
            postponed.append(Handover(file: file))
            return true
        }
        if isTaken { return }
        // Recovery reads the file from the disk and counts the missing part, so the failure that the synchroniser has
        // stored is not needed any more.
        unconfirmed.withLock { $0[file.name.open] = file.written }
        _ = synchroniser?.takeFailure(of: file.descriptor.path)
        state.withLock { $0.isUnfinished = true }
    }

    private func complete(_ file: SegmentFile) {
        do throws(FileFailure) {
            try checkDurability(of: file)
            switch try file.close() {
            case .finished(let record):
                finished(record.fileName, ["frames": "\(record.frames)", "bytes": "\(record.bytes)"])
                for observer in observers { observer.segmentFinished(record) }
            case .empty:
                logger.debug("segment removed: nothing was recorded in it", metadata: ["segment": "\(file.name)"])
            }
            if backlog.isUnfinished, isRetryDue() { retry() }
        } catch {
            failed(file, error)
        }
    }

    private func isRetryDue() -> Bool {
        let now = clock.now
        return nextRetry.withLock { next in
            guard now >= next else { return false }
            next = now + Self.retryInterval
            return true
        }
    }

    private func failed(_ file: SegmentFile, _ failure: FileFailure) {
        state.withLock { $0.isUnfinished = true }
        // If the file was removed (`code` is 0), the disk reported no error. Such a file is not added to `unconfirmed`,
        // so that it is not counted as a gap.
        if failure.code != 0 { unconfirmed.withLock { $0[file.name.open] = file.written } }
        status.value.withLock { $0.lastError = failure.description }
        logger.error("segment not closed, to be tried again: \(failure)", metadata: ["segment": "\(file.name)"])
    }

    /// Throws the error that the disk reported for the file while it was open. The operating system reports an error
    /// only to the first call that asks for it: if the synchroniser has received the error, closing the file does not
    /// report it.
    private func checkDurability(of file: SegmentFile) throws(FileFailure) {
        guard let synchroniser else { return }
        synchroniser.waitUntilIdle()
        if let failure = synchroniser.takeFailure(of: file.descriptor.path) { throw failure }
    }

    private func finished(_ fileName: String, _ metadata: Logger.Metadata) {
        status.value.withLock { status in
            status.segmentsFinished += 1
            status.lastFinished = fileName
        }
        logger.info("segment finished", metadata: metadata.merging(["segment": "\(fileName)"]) { $1 })
    }

    /// Recovers unfinished files. Files that are open for writing or wait to be closed are locked, so recovery skips
    /// them.
    private func recover() {
        let entries: [SegmentRecovery.Entry]
        do {
            // If the disk refused one write of a file, it might have lost any other write, so the files are checked
            // from beginning to end.
            let own = unconfirmed.withLock { $0.mapValues(\.bytes) }
            entries = try SegmentRecovery.run(in: directory, channel: channel, checkedTail: .max, own: own)
        } catch {
            logger.warning("unfinished segments are not looked for: \(error)")
            return
        }
        state.withLock { $0.isUnfinished = false }
        resolveAll(but: Set(entries.map(\.fileName)))
        for entry in entries {
            switch entry.outcome {
            case .completed(let name, let frames, let dropped):
                finished(name, ["frames": "\(frames)", "dropped_bytes": "\(dropped)"])
                announce(name, as: entry.fileName, frames: frames)
            case .renamed(let name):
                finished(name, [:])
                announce(name, as: entry.fileName, frames: nil)
            case .setAside(let name, let reason):
                logger.warning("set aside \(name), which cannot be played: \(reason)")
                resolve(entry.fileName, .nothing)
            case .inUse:
                // Another process, such as `relay recordings repair`, is using a file of this run. Closing the file is
                // tried again later, because that process will release the file.
                let isOwn = unconfirmed.withLock { $0[entry.fileName] != nil }
                if isOwn { state.withLock { $0.isUnfinished = true } }
            case .failed(let failure):
                state.withLock { $0.isUnfinished = true }
                logger.warning("segment still not closed: \(failure)", metadata: ["segment": "\(entry.fileName)"])
            }
        }
    }

    /// Handles the unconfirmed files that are not among `names`, the files that recovery has found. If another process,
    /// such as `relay recordings repair`, has completed such a file in the meantime, the file has its final name and is
    /// accepted. Otherwise not even its name has reached the disk, and the whole file counts as a gap.
    private func resolveAll(but names: Set<String>) {
        for (open, written) in unconfirmed.withLock({ $0 }) where !names.contains(open) {
            guard let (name, frames) = completed(open, written) else {
                resolve(open, .nothing)
                continue
            }
            finished(name, ["frames": "\(frames)"])
            announce(name, as: open, frames: frames)
        }
    }

    /// Informs the observers of the file `name`, which was completed late and was called `open` before, and of its
    /// missing parts. The file contains `frames`; nil means all frames that were written. A transport stream has no
    /// metadata. So for such a file, the record of what was written is used, shortened to what is on the disk.
    private func announce(_ name: String, as open: String, frames: Int?) {
        let written = unconfirmed.withLock { $0[open] }
        let size = try? FileDescriptor.open(readOnly: "\(directory.path)/\(name)").size()
        let kept = kept(name, frames: frames, size: size, of: written)
        resolve(open, kept)
        guard let written, name.hasSuffix(RecordFormat.ts.fileExtension) else {
            for observer in observers { observer.segmentRecovered(fileName: name) }
            return
        }
        let record = written.shortened(to: kept, fileName: name, bytes: size ?? written.bytes)
        for observer in observers { observer.segmentFinished(record) }
    }

    /// Returns how much of `written` is in the file `name`. `frames` is nil if the file contains all frames that were
    /// written; `size` is nil if it is unknown. A file with only audio has no frames, so its duration or size is
    /// compared instead.
    private func kept(_ name: String, frames: Int?, size: Int64?, of written: SegmentRecord?) -> RecordingGap.Kept {
        guard let frames, let written else { return .all }
        guard written.frames == 0 else { return .frames(frames, whole: whole(name)) }
        let length = (written.programEnd - written.programStart).inNanoseconds
        guard name.hasSuffix(RecordFormat.ts.fileExtension) else {
            guard let facts = try? SegmentReader.read("\(directory.path)/\(name)") else { return .nothing }
            return .audio(upTo: written.programStart + .nanoseconds(facts.duration))
        }
        guard let size, written.bytes > 0, size < written.bytes else { return .all }
        let part = Int64(Int128(length) * Int128(size) / Int128(written.bytes))
        return .audio(upTo: written.programStart + .nanoseconds(part))
    }

    /// Returns the length of the part of the file `name` in which no frame is missing; nil for a transport stream, and if
    /// the file cannot be read.
    private func whole(_ name: String) -> Duration? {
        guard !name.hasSuffix(RecordFormat.ts.fileExtension),
            let facts = try? SegmentReader.read("\(directory.path)/\(name)")
        else { return nil }
        return .nanoseconds(facts.leading.nanoseconds(facts.leading.whole))
    }

    /// Returns the final name of the file that was called `open`, and its frame count; nil if there is no such file.
    /// `written` describes what the recorder wrote to it.
    private func completed(_ open: String, _ written: SegmentRecord) -> (name: String, frames: Int)? {
        guard let name = SegmentName(fileName: open, channel: channel, template: directory.template) else { return nil }
        for attempt in 0..<10 {
            let closed = name.closed(attempt: attempt)
            guard access("\(directory.path)/\(closed)", F_OK) == 0 else { break }
            // A transport stream has no metadata that could identify it: only its frames can be counted.
            if name.fileExtension == RecordFormat.ts.fileExtension {
                let frames = try? TransportStreamFile.frames(in: "\(directory.path)/\(closed)", written: written.bytes)
                return (closed, min(frames ?? 0, written.frames))
            }
            guard let facts = try? SegmentReader.read("\(directory.path)/\(closed)"),
                facts.position?.run == written.run, facts.position?.programStart == written.programStart
            else { continue }
            return (closed, facts.frames)
        }
        return nil
    }

    /// Counts the part that is missing in the file with the open name `fileName` as a gap, and removes the file from
    /// ``unconfirmed``. `kept` is the part that the disk has kept.
    private func resolve(_ fileName: String, _ kept: RecordingGap.Kept) {
        guard let written = unconfirmed.withLock({ $0.removeValue(forKey: fileName) }),
            let gap = RecordingGap(lostOf: written, kept: kept)
        else { return }
        let start = UTCTime(milliseconds: written.start.milliseconds + (gap.from - written.programStart).inMilliseconds)
        logger.warning(
            "gap in the recording: \(gap.amount), \(gap.reason)",
            metadata: ["from_ns": "\(gap.from.nanoseconds)", "to_ns": "\((gap.to ?? gap.from).nanoseconds)"])
        status.value.withLock { $0.count(gap) }
        for observer in observers { observer.gapEnded(gap, channel: channel, start: start) }
    }

    /// Waits until all requested work is done; for tests.
    func waitUntilIdle() { queue.sync {} }

    /// Calls `body` on `queue` when all files that were handed over so far are closed. If closing a file has failed,
    /// first tries it once more.
    func whenIdle(_ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
        self.queue.async(group: group) { if self.backlog.isUnfinished { self.recover() } }
        group.notify(queue: queue, execute: body)
    }
}
