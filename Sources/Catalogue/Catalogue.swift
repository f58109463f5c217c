// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import Dispatch
internal import Glibc
package import Logging
package import Media
package import Segmenter
internal import Synchronization

/// Keeps the catalogue of a directory of recordings while a channel records into it: every file, gap and event, and the
/// uploads.
///
/// The files are authoritative, and the catalogue only indexes them. A caller that reports an event never waits. If the
/// catalogue cannot be written, no frame is lost: the catalogue adds the missing changes later, or reads them from the
/// files at the next start.
///
/// ```swift
/// let catalogue = Catalogue(directory: directory, channel: "studio", logger: logger)
/// catalogue.start()
/// configuration.observers.append(catalogue)
/// catalogue.noteEvent(.input, "input 2 is on air")
/// catalogue.finish { print("the catalogue is complete") }
/// ```
package final class Catalogue: RecordingObserver, RetentionVeto {
    private enum Change {
        case segment(String, SegmentRecord?)
        case gap(CatalogueGap)
        case event(CatalogueEvent)
        case deleted(String, UTCTime)
        case checksum(String, name: String, bytes: Int64)
        case upload(UploadState, name: String)
        case uploaded(UploadEntry)

        /// Whether the change applies only to the disk that was mounted when it was reported. Another disk can contain
        /// another file of the same name.
        var isOfDisk: Bool {
            switch self {
            case .deleted, .checksum, .upload, .uploaded: true
            // A gap and an event belong to the channel, whichever disk is mounted. The row of a segment is made from
            // the file that exists when the change is written.
            case .gap, .event, .segment: false
            }
        }
    }

    private struct State {
        /// The identity of the database that was checked, and found to agree with the files; empty before that.
        var checked: [UInt64] = []
        /// The ``RecordDirectory/generation`` of the disk on which the database was found.
        var generation = 0
        /// The changes that are not written yet, each with the disk that was mounted when it was reported.
        var pending: [(change: Change, disk: DiskIdentity)] = []
        var lastFailure: CatalogueFailure?
        var isRetryQueued = false
        var isOver = false
        var hasReportedStrangers = false
    }

    /// The maximum number of changes that wait while the database cannot be written. If there are more, the oldest are
    /// dropped; their information about files is read from the files later.
    private static let patience = 10_000
    private static let retryInterval = DispatchTimeInterval.seconds(10)

    private let directory: RecordDirectory
    private let channel: String
    private let wallClock: @Sendable () -> UTCTime
    private let logger: Logger
    private let queue: DispatchQueue
    private let hold: UploadHold
    private let reads = Mutex<ChecksumQueue?>(nil)
    /// Files that the recorder of this run reported. They belong to the channel, regardless of their names.
    private let told = Mutex<Set<String>>([])
    // Only `queue` locks this mutex, so no other thread ever waits for it, even if the disk hangs.
    private let state = Mutex(State())

    /// A catalogue of the recordings of `channel` in `directory`. Opens nothing yet. `wallClock` dates uploads,
    /// deletions and events.
    package init(
        directory: RecordDirectory, channel: String, wallClock: @escaping @Sendable () -> UTCTime = { .now },
        logger: Logger
    ) {
        self.directory = directory
        self.channel = SegmentName.safe(channel)
        (self.wallClock, self.logger) = (wallClock, logger)
        hold = UploadHold(directory: directory, channel: self.channel)
        queue = DispatchQueue(label: "relay.catalogue.\(self.channel)", qos: .utility)
    }

    /// Opens the database, and adds the recordings that changed while it was closed. Returns at once.
    package func start() {
        let checksums = ChecksumQueue(directory: directory, channel: channel) { [weak self] name, bytes, sum, disk in
            self?.note(.checksum(sum, name: name, bytes: bytes), of: disk)
        }
        reads.withLock { $0 = checksums }
        // If the database was checked before the start, no checksums were queued then. So it is checked again.
        directoryChanged()
    }

    /// Writes all reported changes, if the database can be written, accepts no more changes, and calls `completion` on
    /// the catalogue's queue. Returns at once.
    package func finish(_ completion: @escaping @Sendable () -> Void) {
        reads.withLock { $0 }?.stop()
        queue.async {
            self.state.withLock { state in
                self.flush(&state)
                state.isOver = true
            }
            completion()
        }
    }

    package func segmentFinished(_ record: SegmentRecord) { note(.segment(record.fileName, record)) }
    package func segmentRecovered(fileName: String) { note(.segment(fileName, nil)) }
    package func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime) {
        note(.gap(CatalogueGap(gap, channel: channel, start: start)))
    }

    package func segmentDeleted(fileName: String) { note(.deleted(fileName, wallClock())) }

    /// Reads the recordings of the disk that is mounted now. Returns at once.
    package func directoryChanged() {
        queue.async {
            self.state.withLock { state in
                state.checked = []
                self.flush(&state)
            }
        }
    }

    /// Adds an event of the channel. `text` must contain no secrets. Returns at once.
    package func noteEvent(_ kind: EventKind, _ text: String) {
        note(.event(CatalogueEvent(channel: channel, at: wallClock(), kind: kind.rawValue, text: text)))
    }

    /// Adds the event that a scene went on air. Returns at once.
    package func noteScene(_ scene: SceneEvent) {
        note(.event(CatalogueEvent(channel: channel, at: wallClock(), scene: scene)))
    }

    /// Stores the result of the upload of the file `name`. Returns at once.
    package func noteUpload(_ upload: UploadState, of name: String) {
        hold.note(upload, of: name)
        note(.upload(upload, name: name))
    }

    /// Stores that `segment` was uploaded to `place`, and adds that to the upload ledger. `place` must contain no
    /// secrets. Returns at once.
    package func noteUploaded(_ segment: CatalogueSegment, to place: String) {
        hold.note(.done, of: segment.name)
        note(.uploaded(UploadEntry(segment, to: place, at: wallClock())))
    }

    /// Queues all files of this channel that were never uploaded, and calls `reply` on the catalogue's queue with the
    /// next file to upload that is not in `names`. `reply` gets nil if the catalogue cannot be used, or was finished.
    /// Returns at once.
    package func uploads(besides names: Set<String>, _ reply: @escaping @Sendable (UploadBacklog?) -> Void) {
        queue.async {
            reply(
                self.ask { store in
                    let (backlog, added) = try self.uploads(in: store, besides: names)
                    self.hold.noteWaiting(added)
                    return backlog
                })
        }
    }

    /// Queues again all files of this channel whose upload was given up, if the files still exist. Calls `completion`
    /// in any case, even if the files could not be queued. Returns at once.
    package func queueGivenUp(_ completion: @escaping @Sendable () -> Void) {
        queue.async {
            let names =
                self.ask { store in try store.queueGivenUp(of: self.channel, in: self.directory.path) } ?? []
            for name in names { self.hold.note(.waiting, of: name) }
            completion()
        }
    }

    /// Whether `directory` contains a catalogue, which shows that it is a directory of recordings. Blocks on the disk.
    package static func exists(in directory: String) -> Bool {
        access("\(directory)/\(CatalogueStore.fileName)", F_OK) == 0
    }

    /// The name of the lock file for uploads of `channel` in the directory of the recordings. The file exists from the
    /// channel's first upload on.
    package static func uploadLockName(of channel: String) -> String { UploadMark.lockName(of: channel) }

    /// Whether the file `name` is still needed for an upload. A file that is not in the catalogue, or was never queued,
    /// counts as needed. While the catalogue cannot be read, every file counts as needed. Can block on the disk, but
    /// never on the catalogue's queue.
    package func needsUpload(_ name: String) -> Bool { (hold.state(of: name) ?? .waiting) ?? .waiting == .waiting }

    /// Whether the file is allowed to be deleted, because it does not wait for upload. A file that an earlier run left
    /// waiting is kept even if this run does not upload. While the catalogue cannot be read, every file counts as
    /// waiting if the channel ever uploaded. Can block on the disk, but never on the catalogue's queue.
    package func mayDelete(_ fileName: String) -> Bool {
        guard let upload = hold.state(of: fileName) else { return false }
        return upload != .waiting
    }

    /// Writes `change` as soon as possible. `disk` is the disk to which it applies; nil means the one that is mounted.
    private func note(_ change: Change, of disk: DiskIdentity? = nil) {
        told.withLock { told in
            switch change {
            case .segment(let name, _): told.insert(name)
            case .deleted(let name, _): told.remove(name)
            case .gap, .event, .checksum, .upload, .uploaded: break
            }
        }
        if case .segment(let name, _) = change { hold.renew(name) }
        let disk = disk ?? directory.disk
        queue.async {
            self.state.withLock { state in
                guard !state.isOver else { return }
                if state.pending.count == Self.patience { state.pending.removeFirst() }
                state.pending.append((change, disk))
                self.flush(&state)
            }
        }
    }

    /// Waits until all reported changes are written; for tests.
    func waitUntilIdle() { queue.sync {} }
}

// MARK: On the queue

extension Catalogue {
    /// Returns the database's answer after all reported changes are written; nil if the database cannot be used.
    private func ask<T: Sendable>(_ question: (CatalogueStore) throws -> T) -> T? {
        state.withLock { state in
            flush(&state)
            guard !state.isOver, state.pending.isEmpty else { return nil }
            do {
                return try question(open(&state))
            } catch {
                report(error, &state)
                return nil
            }
        }
    }

    private func flush(_ state: inout State) {
        guard !state.isOver else { return }
        do {
            try write(&state)
            state.lastFailure = nil
        } catch let failure as CatalogueFailure {
            state.checked = []
            if case .damaged = failure, setAside(failure) {
                // After the damaged database was set aside, the write is repeated once, with a new database. A fault
                // that also breaks the new database would break a third one, too.
                do { try write(&state) } catch { report(error, &state) }
            } else {
                report(failure, &state)
            }
        } catch {
            report(error, &state)
        }
    }

    /// Writes the pending changes. The database is open only during the write. A file that stays open would prevent an
    /// operator from unmounting the disk.
    private func write(_ state: inout State) throws {
        guard state.checked.isEmpty || !state.pending.isEmpty else { return }
        let store = try open(&state)
        let mounted = directory.disk
        while let (change, disk) = state.pending.first {
            if disk == mounted || !change.isOfDisk { try apply(change, to: store) }
            state.pending.removeFirst()
        }
    }

    private func open(_ state: inout State) throws -> CatalogueStore {
        let generation = try mountedGeneration()
        // If the disk has changed, the database is checked again, because a database on another disk can have the same
        // identity.
        if state.generation != generation { (state.checked, state.generation) = ([], generation) }
        // While it is unknown which files wait for upload, the database is treated as a new one, even if its identity
        // has not changed.
        let isNew = UploadMark.isSet(for: channel, in: directory.path)
        let store = try CatalogueStore(directory: directory.path, checked: isNew ? [] : state.checked)
        if store.wasChecked { return store }
        state.checked = []
        for (name, failure) in try CatalogueSync.run(store, directory, uploads: hold.known) {
            logger.debug("not in the catalogue: \(failure)", metadata: ["segment": "\(name)"])
        }
        // All of this can take minutes. If another disk is mounted meanwhile, its files and upload states must not be
        // taken for those of the disk of `store`.
        try checkMount(of: generation)
        try restoreUploads(store, on: generation)
        reads.withLock { $0 }?.add(try store.unhashed(channel: channel))
        if let text = try ClipRestoring.run(store, in: directory).text(in: directory) { logger.warning("\(text)") }
        let found = hold.uploads(in: store)
        guard found.isWhole else { throw CatalogueFailure.failed("what waits for upload cannot be read") }
        try checkMount(of: generation)
        hold.load(found.uploads, of: generation)
        try reportStrangers(store, &state)
        state.checked = store.identity
        return store
    }

    /// Returns the ``RecordDirectory/generation`` of the disk that is mounted now. Throws if no disk is mounted on the
    /// directory's mount point, so that no database is created in the empty mount point.
    private func mountedGeneration() throws(CatalogueFailure) -> Int {
        do {
            try directory.checkMount()
        } catch {
            throw .failed("\(error)")
        }
        return directory.generation
    }

    /// Throws if the disk of `generation` is no longer mounted.
    private func checkMount(of generation: Int) throws(CatalogueFailure) {
        guard try mountedGeneration() == generation else {
            throw .failed("another disk was mounted at \(directory.path) while its catalogue was opened")
        }
    }

    /// Writes the upload states that this run knows to the database, which can be new because this or another process
    /// replaced the old one. If it is unknown which files wait for upload, all files wait. `generation` is that of the
    /// database's disk.
    private func restoreUploads(_ store: CatalogueStore, on generation: Int) throws {
        let known = hold.known
        try store.setUploads(known)
        guard UploadMark.isSet(for: channel, in: directory.path) else { return }
        if !hold.isLoaded, try uploads(in: store, besides: []).backlog.files > 0 {
            logger.warning(
                "it is not known which recordings were uploaded: all wait to be uploaded, and none is deleted")
        }
        let names = Set(try store.segments().map(\.name))
        // A transport stream or an unreadable file has no metadata from which a row could be made. A file without a row
        // is not uploaded, and is not deleted while the channel uploads. Therefore each transport stream gets a row
        // here. Any other file also gets a row, except if it is known to have no upload state. Names alone do not show
        // whose files these are: other channels and users can have files with such names.
        let ownership = Ownership(directory, channel: channel)
        let rows = try directory.segments(of: channel).compactMap { file -> CatalogueSegment? in
            let upload = known[file.fileName] ?? (hold.isLoaded ? nil : .waiting)
            let isStream = file.fileName.hasSuffix(RecordFormat.ts.fileExtension)
            guard file.isFinished, upload != nil || isStream, !names.contains(file.fileName),
                known[file.fileName] != nil || ownership.mayOwn(file.fileName)
            else { return nil }
            return CatalogueSegment(file: file, channel: channel, upload: upload)
        }
        try checkMount(of: generation)
        try store.put(rows, living: [])
        try UploadMark.remove(for: channel, in: directory.path)
    }

    private func uploads(
        in store: CatalogueStore, besides names: Set<String>
    ) throws(CatalogueFailure) -> (backlog: UploadBacklog, added: [String]) {
        let ownership = Ownership(directory, channel: channel)
        let told = told.withLock { $0 }
        return try store.uploads(of: channel, besides: names) {
            told.contains($0.name) || ownership.matches($0.name)
        }
    }

    /// Logs once which files are recordings of the channel by their tags but not by their names.
    private func reportStrangers(_ store: CatalogueStore, _ state: inout State) throws {
        guard !state.hasReportedStrangers else { return }
        state.hasReportedStrangers = true
        let ownership = Ownership(directory, channel: channel)
        let names = try store.segments().filter { $0.channel == channel && !ownership.matches($0.name) }.map(\.name)
        guard let first = names.first else { return }
        let more = names.count > 1 ? " and \(names.count - 1) more" : ""
        logger.notice(
            """
            left alone, neither deleted nor handed over nor listed: recordings of this channel with names that \
            --record-name never made here: \(first)\(more)
            """)
    }

    private func apply(_ change: Change, to store: CatalogueStore) throws(CatalogueFailure) {
        switch change {
        case .segment(let name, let record):
            guard let segment = segment(name, record) else { return }
            // A file that the recorder reported belongs to the recorder's current run, so this run is known to
            // continue. For other files, the directory shows which runs continue.
            let living = record.map { [$0.run] }.map(Set.init) ?? directory.livingRuns()
            try store.put([segment], living: living)
            // If the file has not changed, its new row has kept the old row's upload state. Therefore the state is read
            // from the database again.
            hold.load(try store.upload(of: name), of: name)
            reads.withLock { $0 }?.add([name])
        case .gap(let gap): try store.put(gap)
        case .event(let event): try store.put(event)
        case .deleted(let name, let time): try store.noteDeletion(of: name, at: time)
        case .checksum(let sum, let name, let bytes): try store.setChecksum(sum, of: name, bytes: bytes)
        case .upload(let upload, let name): try store.setUpload(upload, of: name)
        case .uploaded(let entry): try store.noteUploaded(entry)
        }
    }

    /// Returns the row that was made from the file itself or, if that is impossible, from the recorder's report. A
    /// missing file gets no row: another disk can be mounted over its directory.
    private func segment(_ name: String, _ record: SegmentRecord?) -> CatalogueSegment? {
        guard access("\(directory.path)/\(name)", F_OK) == 0 || errno != ENOENT else { return nil }
        do {
            return CatalogueSegment(name: name, facts: try SegmentReader.read("\(directory.path)/\(name)"))
        } catch {
            logger.debug("the catalogue cannot read a segment: \(error)", metadata: ["segment": "\(name)"])
            return record.map(CatalogueSegment.init(record:))
        }
    }

    private func setAside(_ failure: CatalogueFailure) -> Bool {
        // Reads the upload states now, because rows of a damaged database can often still be read, and files that wait
        // for upload must also wait in the new database.
        hold.loadOnce()
        do {
            let name = try CatalogueFiles.setAside(in: directory)
            logger.warning("\(failure); it is kept as \(name), and a new one is made from the recordings")
            return true
        } catch {
            logger.warning("\(failure), and it cannot be set aside: \(error)")
            return false
        }
    }

    private func report(_ error: any Error, _ state: inout State) {
        let failure = error as? CatalogueFailure ?? .failed("\(error)")
        if state.lastFailure != failure {
            logger.warning("the catalogue is not up to date, which costs no recording: \(failure)")
        }
        state.lastFailure = failure
        state.checked = []
        guard !state.isRetryQueued else { return }
        state.isRetryQueued = true
        queue.asyncAfter(deadline: .now() + Self.retryInterval) { [weak self] in
            self?.state.withLock { state in
                state.isRetryQueued = false
                self?.flush(&state)
            }
        }
    }
}
