// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Control
internal import Dispatch
internal import Encoder
internal import Glibc
internal import Logging
internal import Networking
internal import Stitcher
internal import Synchronization

/// Makes clips of recordings for the API, one at a time, on a queue of its own and of low priority. What the file holds
/// that is being written is in them, too; no recording is changed by it.
///
/// All calls may come from any thread.
final class ExportJobs: ControlledExports {
    fileprivate struct Entry {
        var job: ExportJob
        let request: ExportRequest
        let archive: ChannelArchive
        /// Bytes of the disk that stay free.
        let reserve: Int64
        var isCancelled = false
        var began = ContinuousClock.now
        var ended: ContinuousClock.Instant?
    }

    private static let mostQueued = 8
    /// Clips that are kept, and for how long; jobs that are remembered.
    private static let (mostKept, lifetime, mostRemembered) = (20, Duration.seconds(7 * 86_400), 100)
    /// How often it is looked whether a clip is recorded, and the microseconds between two looks.
    private static let looks = (count: 300, pause: UInt32(50_000))

    private let queue = DispatchQueue(label: "relay.exports", qos: .utility)
    private let entries = Mutex<[Entry]>([])

    var jobs: [ExportJob] { entries.withLock { $0.map(\.job) } }

    func job(_ id: String) throws(ControlFailure) -> ExportJob { try entry(id).job }

    private func entry(_ id: String) throws(ControlFailure) -> Entry {
        guard let entry = entries.withLock({ $0.first { $0.job.id == id } }) else {
            throw ControlFailure(.notFound, "There is no export of this name.")
        }
        return entry
    }

    /// Queues a clip of what is in `archive`, of which `reserve` bytes of the disk are to stay free.
    func start(
        _ request: ExportRequest, in archive: ChannelArchive, reserve: Int64
    ) throws(ControlFailure) -> ExportJob {
        guard try archive.directory() != nil else {
            throw ControlFailure(.conflict, "Nothing was recorded yet.")
        }
        let job = ExportJob(
            id: String(UInt64.random(in: 1 << 60 ... .max), radix: 16), channel: request.channel,
            from: UTCTime(milliseconds: request.range.lowerBound).extended,
            to: UTCTime(milliseconds: request.range.upperBound).extended, name: request.name,
            isExact: request.isExact ?? true)
        let isTaken = entries.withLock { entries in
            guard entries.count(where: { !$0.job.state.isOver }) <= Self.mostQueued else { return false }
            entries.append(Entry(job: job, request: request, archive: archive, reserve: reserve))
            return true
        }
        guard isTaken else {
            throw ControlFailure(.tooMany, "\(Self.mostQueued) exports wait already. Try again later.")
        }
        queue.async { self.run(job.id) }
        return job
    }

    func file(_ id: String) throws(ControlFailure) -> ArchivedFile {
        let entry = try entry(id)
        guard entry.job.state == .done, let directory = try entry.archive.directory() else {
            throw ControlFailure(.conflict, "There is no clip: the export is \(entry.job.state.rawValue).")
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

    func remove(_ id: String) throws(ControlFailure) {
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
                entries[index].ended = .now
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

// MARK: On the queue

extension ExportJobs {
    private func run(_ id: String) {
        guard let entry = try? entry(id), entry.job.state == .queued else { return }
        change(id) { entry in
            entry.job.state = .running
            entry.began = .now
        }
        let logger = entry.archive.logger
        do {
            let made = try make(entry)
            change(id) { $0.finish(made) }
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

    /// Makes the clip. A file that is closed meanwhile gets another name: then it is tried once
    /// more.
    private func make(_ entry: Entry) throws -> Made {
        guard let directory = try entry.archive.directory() else { throw ClipFailure("Nothing was recorded yet.") }
        // Every file that the clip is made of stays open.
        DescriptorLimit.raise()
        let place = ExportPlace(directory: directory)
        try place.prepare(known: Set(jobs.map(\.id)))
        let isExact = entry.request.isExact ?? true
        do {
            return try attempt(entry, isExact: isExact, directory, place)
        } catch let failure as ClipFailure where failure.isCancellation {
            throw failure
        } catch is EncoderError where entry.request.isExact == nil {
            change(entry.job.id) { $0.job.isExact = false }
            return try attempt(entry, isExact: false, directory, place)
        } catch {
            return try attempt(entry, isExact: isExact, directory, place)
        }
    }

    private func attempt(
        _ entry: Entry, isExact: Bool, _ directory: RecordDirectory, _ place: ExportPlace
    ) throws -> Made {
        guard entry.request.stitched.isEmpty else { return try stitch(entry, directory, place) }
        let id = entry.job.id
        let chosen = try choice(entry, directory)
        if chosen.hasStreams {
            guard entry.request.isExact != false else {
                throw ClipFailure("MPEG-TS is coded again for a clip, and that is not wanted.")
            }
            return try stitch(chosen, entry, place)
        }
        var request = ClipRequest(
            files: chosen.files, range: chosen.range, isExact: isExact,
            output: place.path(of: id), replaces: false, version: RelayVersion.text)
        request.reserve = entry.reserve
        var report: ClipReport
        do {
            var exporter = try ClipExporter(request)
            report = try exporter.run(
                progress: { done, total in self.change(id) { $0.progressed(done, of: total) } },
                isCancelled: { self.isCancelled(id) })
        } catch let failure as ClipFailure where failure.isDifference && entry.request.isExact != false {
            return try stitch(chosen, entry, place)
        } catch is EncoderError where entry.request.isExact == true {
            // What others encoded cannot be gone on with as they did; stitching gives it parameter sets of its own.
            return try stitch(chosen, entry, place)
        }
        if let clip = entry.request.clip {
            clip.tell(&report)
            clip.finished(report.audioOffset)
        }
        return Made(report, bytes: try FileDescriptor.open(readOnly: place.path(of: id)).size())
    }

    private func stitch(_ entry: Entry, _ directory: RecordDirectory, _ place: ExportPlace) throws -> Made {
        let clips = entry.request.stitched
        for clip in clips { try waitUntilRecorded(clip.clip, entry.job.id) }
        let pieces = try ClipStitching(clips: clips, archive: entry.archive, directory: directory.path).pieces
        let made = try stitch(pieces, entry, place)
        for clip in clips { clip.clip.finished(nil) }
        return made
    }

    /// Makes one file of recordings that do not go with each other, or are not MP4.
    private func stitch(_ choice: Choice, _ entry: Entry, _ place: ExportPlace) throws -> Made {
        var made = try stitch(try choice.pieces(), entry, place)
        made.notes += choice.notes
        entry.request.clip?.finished(nil)
        return made
    }

    /// Makes one file of `clips`, coded again where they differ.
    private func stitch(_ clips: [StitchClip], _ entry: Entry, _ place: ExportPlace) throws -> Made {
        let id = entry.job.id
        var request = StitchRequest(
            clips: clips, settings: StitchSettings(), output: place.path(of: id), replaces: false,
            version: RelayVersion.text)
        request.reserve = entry.reserve
        let report = try StitchJob(request, isCancelled: { self.isCancelled(id) }).run(
            progress: { done, total in self.change(id) { $0.progressed(Int64(done), of: Int64(total)) } },
            isCancelled: { self.isCancelled(id) })
        return Made(report, bytes: try FileDescriptor.open(readOnly: place.path(of: id)).size())
    }

    /// What an export is made of.
    private struct Choice {
        var files: [(path: String, name: String)]
        /// Milliseconds since 1970, by the files' own dates.
        var range: Range<Int64>
        var hasStreams = false
        var notes: [String] = []
        /// The same for stitching.
        var pieces: () throws -> [StitchClip]
    }

    private func choice(_ entry: Entry, _ directory: RecordDirectory) throws -> Choice {
        if let clip = entry.request.clip {
            try waitUntilRecorded(clip, entry.job.id)
            let files = try entry.archive.files(ofRun: clip.run)
            let (chosen, range) = try clip.selection(files, in: directory.path)
            return Choice(files: chosen, range: range) {
                ClipStitching.pieces(of: StitchedClip(clip), files, in: directory.path)
            }
        }
        let segments = try RecordingArchive(directory.path).contents().segments
        let selection = try ExportSelection(
            segments, in: directory.path, channel: entry.archive.channel, range: entry.request.range,
            includesOpen: true)
        return Choice(
            files: selection.files, range: selection.range, hasStreams: selection.hasStreams, notes: selection.notes
        ) { selection.pieces }
    }

    /// Waits for the last frames of a clip that was just ended to be on the disk.
    private func waitUntilRecorded(_ clip: ClipExport, _ id: String) throws(ClipFailure) {
        for _ in 0..<Self.looks.count {
            if clip.isRecorded() { return }
            if isCancelled(id) { throw .cancelled }
            usleep(Self.looks.pause)
        }
        throw ClipFailure("The end of the clip is not on the disk yet. Try again later.")
    }

    private func isCancelled(_ id: String) -> Bool {
        entries.withLock { $0.first { $0.job.id == id }?.isCancelled ?? true }
    }

    /// Forgets what is too old or too much, with its clip.
    private func prune() {
        let now = ContinuousClock.now
        let gone = entries.withLock { entries -> [Entry] in
            var kept = 0
            var gone: [Entry] = []
            for (index, entry) in entries.enumerated().reversed() where entry.job.state.isOver {
                if entry.job.state == .done { kept += 1 }
                let isOld = entry.ended.map { now - $0 > Self.lifetime } ?? false
                guard
                    isOld || kept > Self.mostKept && entry.job.state == .done
                        || entries.count - index > Self.mostRemembered
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

    fileprivate mutating func finish(_ made: Made) {
        end(.done, made.notes.joined(separator: "; "))
        job.progress = 1
        job.bytes = made.bytes
        job.durationSeconds = Double(made.milliseconds) / 1000
        (job.copiedFrames, job.encodedFrames) = (made.copiedFrames, made.encodedFrames)
        job.url = "v1/exports/\(job.id)/file"
    }

    fileprivate mutating func end(_ state: ExportJob.State, _ detail: String) {
        job.state = state
        job.detail = detail.isEmpty ? nil : detail
        job.secondsLeft = nil
        ended = .now
    }
}

/// What came of an export.
private struct Made {
    var milliseconds: Int64
    let bytes: Int64
    var (copiedFrames, encodedFrames): (Int, Int)
    /// What a reader of the file should know.
    var notes: [String] = []

    init(_ report: ClipReport, bytes: Int64) {
        (milliseconds, self.bytes) = (report.milliseconds, bytes)
        (copiedFrames, encodedFrames) = (report.copiedFrames, report.encodedFrames)
        notes = report.gaps.map { "nothing was recorded from \($0.from) to \($0.to)" }
        if report.widenedStart > 0 { notes.append("it begins \(report.widenedStart) ms earlier than asked for") }
        if report.widenedEnd > 0 { notes.append("it ends \(report.widenedEnd) ms later than asked for") }
    }

    init(_ report: StitchReport, bytes: Int64) {
        (milliseconds, self.bytes) = (report.milliseconds, bytes)
        (copiedFrames, encodedFrames) = (report.copiedFrames, report.encodedFrames)
    }
}
