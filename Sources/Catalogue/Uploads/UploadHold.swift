// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc
internal import Synchronization

/// Stores the upload states of one channel's files, to decide whether a file is allowed to be deleted.
///
/// It reads the database itself and does not use the catalogue's queue, which can be busy for minutes with the files of
/// a large archive. Every file counts as needed while the database cannot be read or is lost, or while it is a new
/// database that might not contain the waiting files yet (``UploadMark``). If the channel never uploaded, no file
/// counts as needed.
final class UploadHold: Sendable {
    private struct State {
        /// The upload states in the database, by file name; nil until the database was read.
        var loaded: [String: UploadState]?
        /// The upload states that this run recorded, or read from an incomplete database, by file name; they replace
        /// those in `loaded`.
        var noted: [String: UploadState] = [:]
        /// Names that new files now have. The database rows with these names may still be those of earlier files.
        var renewed: Set<String> = []
        /// When the database is read again after a failure.
        var retryAt: ContinuousClock.Instant?
        /// The ``RecordDirectory/generation`` of the disk to which these states apply.
        var generation: Int

        /// Drops all upload states if the disk was replaced.
        mutating func follow(_ directory: RecordDirectory) {
            let generation = directory.generation
            if generation != self.generation { self = State(generation: generation) }
        }
    }

    private static let retryInterval = Duration.seconds(10)

    private let directory: RecordDirectory
    private let channel: String
    private let state: Mutex<State>

    /// Creates the hold without reading anything.
    init(directory: RecordDirectory, channel: String) {
        self.directory = directory
        self.channel = channel
        state = Mutex(State(generation: directory.generation))
    }

    /// Records the upload state of the file `name`.
    func note(_ upload: UploadState, of name: String) {
        state.withLock { state in
            state.follow(directory)
            state.noted[name] = upload
        }
    }

    /// Records that the files `names` were queued in the database, unless a newer state was recorded in the meantime.
    func noteWaiting(_ names: [String]) {
        state.withLock { state in
            state.follow(directory)
            for name in names where state.noted[name] == nil { state.noted[name] = .waiting }
        }
    }

    /// Forgets the upload state of the name `name`, which a new file has now: names that contain only the time of day
    /// are used again.
    func renew(_ name: String) {
        state.withLock { state in
            state.follow(directory)
            state.noted[name] = nil
            state.renewed.insert(name)
        }
    }

    /// Stores `upload`, the database's state of the file `name`, after the file's row was written.
    func load(_ upload: UploadState?, of name: String) {
        state.withLock { state in
            state.follow(directory)
            state.renewed.remove(name)
            state.loaded?[name] = upload
        }
    }

    /// Stores `states`, the complete upload states of the database on the disk of `generation`, unless another disk is
    /// mounted now.
    func load(_ states: [String: UploadState], of generation: Int) {
        state.withLock { state in
            state.follow(directory)
            guard state.generation == generation else { return }
            state.loaded = states
        }
    }

    /// Returns the upload states that `store` has for the channel's files: files whose row names the channel, and files
    /// that are named after it.
    func uploads(in store: CatalogueStore) -> SalvagedSegments {
        let ownership = Ownership(directory, channel: channel)
        let uploaded: Set = UploadMark.wasUploaded(channel, in: directory.path) ? [channel] : []
        return store.salvagedSegments(uploaded: uploaded) { name, owner in
            owner == channel || ownership.isNamedAfterChannel(name)
        }
    }

    /// Whether the database was read.
    var isLoaded: Bool { state.withLock { $0.loaded != nil } }

    /// All known upload states, by file name.
    var known: [String: UploadState] {
        state.withLock { state in
            state.follow(directory)
            var known = state.loaded ?? [:]
            for name in state.renewed { known[name] = nil }
            return known.merging(state.noted) { $1 }
        }
    }

    /// Returns the upload state of the file `name`; `.some(nil)` if it was never queued, nil if it is unknown now.
    /// Blocks on the disk the first time.
    func state(of name: String) -> UploadState?? {
        loadOnce()
        return state.withLock { state in
            if let noted = state.noted[name] { return noted }
            let isRenewed = state.renewed.contains(name)
            return state.loaded.map { states -> UploadState? in isRenewed ? nil : states[name] }
        }
    }

    /// Reads the database if that was not done yet. Several threads can call it at once.
    func loadOnce() {
        let (isDue, generation) = state.withLock { state in
            state.follow(directory)
            return (state.loaded == nil && state.retryAt.map { $0 <= .now } ?? true, state.generation)
        }
        guard isDue else { return }
        let found = read()
        state.withLock { state in
            // If another disk was mounted meanwhile, its database is read at the next call.
            state.follow(directory)
            guard state.generation == generation else { return }
            state.retryAt = .now + Self.retryInterval
            guard state.loaded == nil, let found else { return }
            if found.isWhole {
                state.loaded = found.states
            } else {
                // Not all rows could be read. The upload states of the other files are unknown, so the database still
                // counts as not read.
                state.noted.merge(found.states) { noted, _ in noted }
            }
        }
    }

    /// Returns the states in the database, and whether they are complete; nil if the database cannot be read.
    private func read() -> (states: [String: UploadState], isWhole: Bool)? {
        // While no disk is mounted, the upload states are unknown. The empty mount point contains no database, but the
        // disk that is mounted there later can contain one.
        guard (try? directory.checkMount()) != nil else { return nil }
        // If the channel never uploaded, no file waits. So files can be deleted, and a lost or damaged database does
        // not make the disk full.
        let wasUploaded = UploadMark.wasUploaded(channel, in: directory.path)
        let unknown: (states: [String: UploadState], isWhole: Bool)? = wasUploaded ? nil : ([:], true)
        if wasUploaded, UploadMark.isSet(for: channel, in: directory.path) { return nil }
        var info = stat()
        guard lstat("\(directory.path)/\(CatalogueStore.fileName)", &info) == 0 else {
            return errno == ENOENT ? unknown : nil
        }
        guard info.st_mode & S_IFMT == S_IFREG, let store = try? CatalogueStore(reading: directory.path) else {
            return unknown
        }
        let found = uploads(in: store)
        return (found.uploads, found.isWhole || !wasUploaded)
    }
}
