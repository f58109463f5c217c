// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Dispatch
internal import Glibc
internal import Logging
package import Media
internal import Networking
internal import Stitcher
internal import Synchronization

/// Exports parts of recordings for the API, one at a time, on its own queue of low priority. In this type, an exported
/// file is called a clip. It may include frames of the file that is being written. No recording is changed.
///
/// Any thread may call the methods.
package final class ExportJobs: Sendable {
    fileprivate struct Entry {
        var job: ExportJob
        let request: ExportRequest
        let archive: ChannelArchive
        /// The number of bytes that have to stay free on the disk.
        let reserve: Int64
        var isCancelled = false
        var began = ContinuousClock.now
        var ended: UTCTime?
        /// When the job ended, on a monotonic clock; nil if it has not ended, or if an earlier process ran it.
        var over: ContinuousClock.Instant?

        /// Whether the job ended more than `length` ago.
        func isOver(for length: Duration) -> Bool {
            if let over { return over.duration(to: .now) > length }
            return ended.map { .milliseconds(UTCTime.now.milliseconds - $0.milliseconds) > length } ?? false
        }
    }

    private static let mostQueued = 8
    /// The maximum number of stored clips and their lifetime. `mostTrials` is the maximum number of
    /// clips for a preview, which are stored besides them, and `mostRemembered` is the maximum number of stored jobs.
    private static let (mostKept, lifetime, mostTrials, mostRemembered) = (20, Duration.seconds(7 * 86_400), 5, 100)

    private let queue = DispatchQueue(label: "relay.exports", qos: .utility)
    private let entries = Mutex<[Entry]>([])

    package init() {}

    /// All stored jobs: those of earlier processes in the order in which they ended, then those of this process in the
    /// order of their requests. Returns at once.
    package var jobs: [ExportJob] { entries.withLock { $0.map(\.job) } }

    /// The job `id`. Throws `notFound`. Returns at once.
    package func job(_ id: String) throws(Refusal) -> ExportJob { try entry(id).job }

    private func entry(_ id: String) throws(Refusal) -> Entry {
        guard let entry = entries.withLock({ $0.first { $0.job.id == id } }) else {
            throw Refusal(.notFound, "There is no export of this name.")
        }
        return entry
    }

    /// Restores the jobs that earlier processes finished for `archive`. Returns at once.
    package func restore(from archive: ChannelArchive) {
        queue.async {
            guard let directory = try? archive.directory() else { return }
            self.take(ExportPlace(directory: directory).notes(), from: archive)
            self.prune()
        }
    }

    /// Restores, from `notes`, the jobs that earlier processes finished for `archive`.
    private func take(_ notes: [ExportPlace.Note], from archive: ChannelArchive) {
        let known = Set(jobs.map(\.id))
        for note in notes where note.job.channel == archive.name && !known.contains(note.job.id) {
            let request = ExportRequest(
                channel: archive.name, range: note.from..<note.to, name: note.job.name, isExact: nil)
            var entry = Entry(job: note.job, request: request, archive: archive, reserve: 0)
            entry.ended = UTCTime(milliseconds: note.ended)
            entries.withLock { entries in
                // Restored jobs come before all jobs of this process, in the order in which they ended.
                let index = entries.firstIndex { $0.over != nil || ($0.ended?.milliseconds ?? .max) > note.ended }
                entries.insert(entry, at: index ?? entries.endIndex)
            }
        }
    }

    /// Blocks until all jobs that were requested so far are done; for tests.
    func waitUntilIdle() { queue.sync {} }

    /// Queues an export from the files in `archive`; `reserve` bytes must stay free on the disk.
    package func start(
        _ request: ExportRequest, in archive: ChannelArchive, reserve: Int64
    ) throws(Refusal) -> ExportJob {
        guard try archive.directory() != nil else { throw Refusal(.conflict, "Nothing was recorded yet.") }
        var job = ExportJob(
            id: String(UInt64.random(in: 1 << 60 ... .max), radix: 16), channel: request.channel,
            from: UTCTime(milliseconds: request.range.lowerBound).extended,
            to: UTCTime(milliseconds: request.range.upperBound).extended, name: request.name,
            isExact: request.isExact ?? true)
        job.source = request.source
        let isTaken = entries.withLock { entries in
            guard entries.count(where: { !$0.job.state.isOver }) <= Self.mostQueued else { return false }
            entries.append(Entry(job: job, request: request, archive: archive, reserve: reserve))
            return true
        }
        guard isTaken else { throw Refusal(.tooMany, "\(Self.mostQueued) exports wait already. Try again later.") }
        queue.async { [id = job.id] in self.run(id) }
        return job
    }

    /// Opens the file that the job `id` made. Throws `notFound`, or `conflict` if the job has not made a file. Blocks
    /// on the disk.
    package func file(_ id: String) throws(Refusal) -> ArchivedFile {
        let entry = try entry(id)
        guard entry.job.state == .done, let directory = try entry.archive.directory() else {
            throw Refusal(.conflict, "There is no clip: the export is \(entry.job.state.rawValue).")
        }
        let start = UTCTime(milliseconds: entry.request.range.lowerBound).basic
        let name = entry.job.name ?? "\(entry.archive.channel)_\(start)"
        return try entry.archive.telling {
            let file = try FileDescriptor.open(readOnly: ExportPlace(directory: directory).path(of: id))
            let size = try file.size()
            return ArchivedFile(
                name: name.hasSuffix(".mp4") ? name : name + ".mp4", type: "video/mp4", size: size, tag: id
            ) { offset, count in try file.read(at: offset, count: count) }
        }
    }

    /// Cancels the job `id`, or deletes it with its file if it has ended. Throws `notFound`. Blocks on the disk.
    package func remove(_ id: String) throws(Refusal) {
        let entry = try entry(id)
        let isOver = entries.withLock { entries in
            guard let index = entries.firstIndex(where: { $0.job.id == id }) else { return true }
            if entries[index].job.state.isOver {
                entries.remove(at: index)
                return true
            }
            entries[index].isCancelled = true
            if entries[index].job.state == .queued {
                entries[index].job.state = .cancelled
                (entries[index].ended, entries[index].over) = (.now, .now)
            }
            return false
        }
        if isOver, let directory = try entry.archive.directory() { ExportPlace(directory: directory).remove(id) }
    }

    private func change(_ id: String, _ body: (inout Entry) -> Void) {
        entries.withLock { entries in
            if let index = entries.firstIndex(where: { $0.job.id == id }) { body(&entries[index]) }
        }
    }
}

// MARK: Work on the queue

extension ExportJobs {
    private func run(_ id: String) {
        guard let entry = try? entry(id), entry.job.state == .queued else { return }
        change(id) { entry in
            entry.job.state = .running
            entry.began = .now
        }
        let logger = entry.archive.logger
        do {
            let (made, bytes) = try make(entry)
            change(id) { $0.finish(made, bytes: bytes) }
            keep(id)
            logger.notice("export finished: \(made.milliseconds) ms", metadata: ["export": "\(id)"])
        } catch let failure as ClipFailure where failure.isCancellation {
            change(id) { $0.end(.cancelled, "") }
            logger.notice("export cancelled", metadata: ["export": "\(id)"])
        } catch {
            let text = (error as? FileFailure).map { "The disk does not allow that: \($0.text)." } ?? "\(error)"
            change(id) { $0.end(.failed, text) }
            logger.warning("export failed: \(error)", metadata: ["export": "\(id)"])
        }
        prune()
    }

    /// Writes a note about the job next to its clip. Clips for a preview get no note.
    private func keep(_ id: String) {
        guard let entry = try? entry(id), !entry.request.isTrial, let ended = entry.ended else { return }
        do {
            guard let directory = try entry.archive.directory() else { return }
            let range = entry.request.range
            try ExportPlace(directory: directory).write(
                ExportPlace.Note(
                    job: entry.job, from: range.lowerBound, to: range.upperBound, ended: ended.milliseconds))
        } catch {
            entry.archive.logger.warning(
                "the next run will not know the export: \(error)", metadata: ["export": "\(id)"])
        }
    }

    /// Makes the clip, and also returns its size in bytes.
    private func make(_ entry: Entry) throws -> (ExportResult, Int64) {
        guard let directory = try entry.archive.directory() else { throw ClipFailure("Nothing was recorded yet.") }
        // The limit for descriptors is raised, because each file from which the clip is made stays open during the
        // export.
        DescriptorLimit.raise()
        let place = ExportPlace(directory: directory)
        // The notes are read again for each clip. The directory may have appeared after the process started, and other
        // channels export to it, too.
        let notes = place.notes().filter { .milliseconds(UTCTime.now.milliseconds - $0.ended) <= Self.lifetime }
        take(notes, from: entry.archive)
        try place.prepare(known: Set(jobs.map(\.id)).union(notes.map(\.job.id)))
        let id = entry.job.id
        let making = ExportMaking(
            request: entry.request, archive: entry.archive, directory: directory, output: place.path(of: id),
            reserve: entry.reserve,
            progress: { done, total in self.change(id) { $0.progressed(done, of: total) } },
            isCancelled: { self.isCancelled(id) })
        return (try making.make(), try FileDescriptor.open(readOnly: place.path(of: id)).size())
    }

    private func isCancelled(_ id: String) -> Bool {
        entries.withLock { $0.first { $0.job.id == id }?.isCancelled ?? true }
    }

    /// Deletes jobs that are too old, or exceed the maximum number, together with their clips.
    private func prune() {
        let gone = entries.withLock { entries -> [Entry] in
            var (kept, trials) = (0, 0)
            var gone: [Entry] = []
            for (index, entry) in entries.enumerated().reversed() where entry.job.state.isOver {
                let isTrial = entry.request.isTrial
                if entry.job.state == .done { isTrial ? (trials += 1) : (kept += 1) }
                let isOld = entry.isOver(for: Self.lifetime)
                let isSurplus = isTrial ? trials > Self.mostTrials : kept > Self.mostKept
                guard
                    isOld || isSurplus && entry.job.state == .done || entries.count - index > Self.mostRemembered
                else { continue }
                gone.append(entries.remove(at: index))
            }
            return gone
        }
        for entry in gone {
            guard let directory = try? entry.archive.directory() else { continue }
            ExportPlace(directory: directory).remove(entry.job.id)
        }
    }
}

extension ExportJobs.Entry {
    fileprivate mutating func progressed(_ done: Int64, of total: Int64) {
        job.progress = min(1, Double(done) / Double(max(1, total)))
        let elapsed = ContinuousClock.now - began
        guard job.progress > 0.02 else { return }
        job.secondsLeft = Double(elapsed.components.seconds) * (1 - job.progress) / job.progress
    }

    fileprivate mutating func finish(_ made: ExportResult, bytes: Int64) {
        end(.done, made.details.joined(separator: "; "))
        job.progress = 1
        job.isExact = made.isExact
        job.bytes = bytes
        job.durationSeconds = Double(made.milliseconds) / 1000
        (job.copiedFrames, job.encodedFrames) = made.frames
        job.url = "v1/exports/\(job.id)/file"
    }

    fileprivate mutating func end(_ state: ExportJob.State, _ detail: String) {
        job.state = state
        job.detail = detail.isEmpty ? nil : detail
        job.secondsLeft = nil
        (ended, over) = (.now, .now)
    }
}
