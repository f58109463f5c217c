// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
internal import Glibc
internal import Logging
internal import MP4
internal import Media
internal import Synchronization

/// Closes files on a queue of its own, so that waiting for the disk's cache does not hold up the next file.
///
/// A file that cannot be closed keeps the name of an open one and is tried again by ``retry()``, and when another file
/// could be closed, at most once a minute.
final class SegmentCloser: Sendable {
    /// A file on its way from the recorder's queue to this one.
    ///
    /// Safe to send: the recorder gives up its only reference when it makes one of these, so that one queue at a time
    /// holds the file.
    private struct Handover: @unchecked Sendable {
        let file: SegmentFile
    }

    /// How far behind the closer is.
    struct Backlog: Sendable, Equatable {
        /// Files that wait to be closed.
        var waiting = 0
        /// Files whose closing was put off until no other waited, because too many did.
        var hurried = 0
        /// Whether a file could not be closed and is still to be.
        var isUnfinished = false
    }

    /// From so many waiting files on, a file only gets its index, so that its tables are given back; what must wait for
    /// the disk is done when no other file waits.
    static let patience = 8
    /// So many files are held for that; each has a descriptor.
    private static let mostPostponed = 64

    /// Each attempt may read hours of media.
    private static let retryInterval: Int64 = 60_000_000_000

    private let queue: DispatchQueue
    private let group = DispatchGroup()
    private let directory: RecordDirectory
    private let channel: String
    private let status: RecorderStatusBox
    private let logger: Logger
    private let observers: [any RecordingObserver]
    private let synchroniser: FileSynchroniser?
    private let clock: any MonotonicClock
    private let nextRetry = Mutex(Int64.min)
    private let state = Mutex(Backlog())
    private let postponed = Mutex<[Handover]>([])
    /// What was written to the files that could not be closed, by their names while they are open.
    private let unconfirmed = Mutex<[String: SegmentRecord]>([:])

    /// A closer of the files of `channel` in `directory`, which `synchroniser` made durable while they were open. Tests
    /// bring their own serial `queue`.
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

    /// How far behind the closer is now.
    var backlog: Backlog { state.withLock { $0 } }

    /// Closes `file`, which the caller must not touch any more.
    func close(_ file: consuming SegmentFile) {
        let handover = Handover(file: file)
        state.withLock { $0.waiting += 1 }
        queue.async(group: group) { self.finish(handover.file) }
    }

    /// Takes up files again that could not be closed before, here or in an earlier run. Returns at once.
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

    /// Writes the file's index and completes the file when no other waits. If too many wait, ``retry()`` does the rest.
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
        // Recovery reads what is on the disk; what is missing there is counted. So the disk's failure is not needed.
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
        // Nothing is known of a file that somebody removed, and the system reports no error either.
        if failure.code != 0 { unconfirmed.withLock { $0[file.name.open] = file.written } }
        status.value.withLock { $0.lastError = failure.description }
        logger.error("segment not closed, to be tried again: \(failure)", metadata: ["segment": "\(file.name)"])
    }

    /// Throws the error that the disk reported for the file while it was open. The system reports it only once, to the
    /// first caller that asks: once the synchroniser has received it, closing the file does not get it.
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

    /// Files that are open for writing or wait to be closed are locked, and so left alone.
    private func recover() {
        let entries: [SegmentRecovery.Entry]
        do {
            // A disk that refused something may have refused any of it.
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
                // A process that uses a file of this run, such as `relay recordings repair`, is done with it some time.
                let isOwn = unconfirmed.withLock { $0[entry.fileName] != nil }
                if isOwn { state.withLock { $0.isUnfinished = true } }
            case .failed(let failure):
                state.withLock { $0.isUnfinished = true }
                logger.warning("segment still not closed: \(failure)", metadata: ["segment": "\(entry.fileName)"])
            }
        }
    }

    /// Counts as a gap what is in no file of these names any more: not even the name has reached the disk. A file that
    /// somebody else has completed meanwhile, such as `relay recordings repair`, has its final name and is taken up.
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

    /// Tells of the file `name`, which was called `open` until it was completed late, and of what it lacks. It holds
    /// `frames`; nil if all that was written to it. A transport stream says nothing of itself: what is known of it is
    /// what was written, as far as it is there.
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

    /// Returns what of `written` is in the file `name`, which has `frames`, nil if all that was written, and `size`
    /// bytes, nil if that is unknown. Audio has no frames to count.
    private func kept(_ name: String, frames: Int?, size: Int64?, of written: SegmentRecord?) -> RecordingGap.Kept {
        guard let frames, let written else { return .all }
        guard written.frames == 0 else { return .frames(frames) }
        let length = written.programEnd - written.programStart
        guard name.hasSuffix(RecordFormat.ts.fileExtension) else {
            guard let facts = try? SegmentReader.read("\(directory.path)/\(name)") else { return .nothing }
            return .audio(upTo: written.programStart + facts.duration)
        }
        guard let size, written.bytes > 0, size < written.bytes else { return .all }
        return .audio(upTo: written.programStart + Int64(Int128(length) * Int128(size) / Int128(written.bytes)))
    }

    /// Returns the finished file that the file `open` became, to which the recorder wrote `written`, and the frames in
    /// it; nil if there is no such file.
    private func completed(_ open: String, _ written: SegmentRecord) -> (name: String, frames: Int)? {
        guard let name = SegmentName(fileName: open, channel: channel, template: directory.template) else { return nil }
        for attempt in 0..<10 {
            let closed = name.closed(attempt: attempt)
            guard access("\(directory.path)/\(closed)", F_OK) == 0 else { break }
            // A transport stream says nothing of itself but what frames it has.
            if name.fileExtension == RecordFormat.ts.fileExtension {
                let frames = try? TransportStreamFile.frames(
                    in: "\(directory.path)/\(closed)", written: written.bytes)
                return (closed, min(frames ?? 0, written.frames))
            }
            guard let facts = try? SegmentReader.read("\(directory.path)/\(closed)"),
                facts.position?.run == written.run, facts.position?.programStart == written.programStart
            else { continue }
            return (closed, facts.frames)
        }
        return nil
    }

    /// Counts as a gap what a file turns out to lack.
    private func resolve(_ fileName: String, _ kept: RecordingGap.Kept) {
        guard let written = unconfirmed.withLock({ $0.removeValue(forKey: fileName) }),
            let gap = RecordingGap(lostOf: written, kept: kept)
        else { return }
        let start = UTCTime(milliseconds: written.start.milliseconds + (gap.from - written.programStart) / 1_000_000)
        logger.warning(
            "gap in the recording: \(gap.amount), \(gap.reason)",
            metadata: ["from_ns": "\(gap.from)", "to_ns": "\(gap.to ?? gap.from)"])
        status.value.withLock { $0.count(gap) }
        for observer in observers { observer.gapEnded(gap, channel: channel, start: start) }
    }

    /// Waits until what was asked so far is done; for tests.
    func waitUntilIdle() { queue.sync {} }

    /// Calls `body` on `queue` when all files handed over are closed, or could not be, not even at a second attempt.
    func whenIdle(_ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
        self.queue.async(group: group) { if self.backlog.isUnfinished { self.recover() } }
        group.notify(queue: queue, execute: body)
    }
}
