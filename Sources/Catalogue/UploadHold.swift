// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc
internal import Synchronization

/// What is known of the uploads of one channel, for the decision whether a file may be deleted.
///
/// It reads the database itself, so that no caller waits for the catalogue's queue, which may be busy for minutes with
/// the files of a large archive. While the database cannot be read, is lost, or is a new one that may not know yet what
/// waits (``UploadMark``), every file counts as still needed, unless the channel was never uploaded.
final class UploadHold: Sendable {
    private struct State {
        /// What the database said; nil until it could be read.
        var loaded: [String: UploadState]?
        /// What was noted since, or before.
        var noted: [String: UploadState] = [:]
        /// When the database is tried again.
        var retryAt: ContinuousClock.Instant?
        /// Generation of the directory to which all this applies.
        var generation: Int

        /// Forgets what is known of the files of another disk.
        mutating func follow(_ directory: RecordDirectory) {
            let generation = directory.generation
            if generation != self.generation { self = State(generation: generation) }
        }
    }

    private static let retryInterval = Duration.seconds(10)

    private let directory: RecordDirectory
    private let channel: String
    private let state: Mutex<State>

    /// Nothing is read yet.
    init(directory: RecordDirectory, channel: String) {
        self.directory = directory
        self.channel = channel
        state = Mutex(State(generation: directory.generation))
    }

    /// Notes what became of the upload of the file `name`.
    func note(_ upload: UploadState, of name: String) {
        state.withLock { state in
            state.follow(directory)
            state.noted[name] = upload
        }
    }

    /// Notes that the files `names` wait, which the database let wait, unless more was noted of them meanwhile.
    func noteWaiting(_ names: [String]) {
        state.withLock { state in
            state.follow(directory)
            for name in names where state.noted[name] == nil { state.noted[name] = .waiting }
        }
    }

    /// Takes over what the database says, which `states` are all of.
    func load(_ states: [String: UploadState]) {
        state.withLock { state in
            state.follow(directory)
            state.loaded = states
        }
    }

    /// What `store` can say of the channel's files: of all that it says is a file of the channel, and of all that is called
    /// like one.
    func uploads(in store: CatalogueStore) -> SalvagedSegments {
        let ownership = Ownership(directory, channel: channel)
        let uploaded: Set = UploadMark.wasUploaded(channel, in: directory.path) ? [channel] : []
        return store.salvagedSegments(uploaded: uploaded) { name, owner in
            owner == channel || ownership.isNamedAfterChannel(name)
        }
    }

    /// Whether the database could be read once.
    var isLoaded: Bool { state.withLock { $0.loaded != nil } }

    /// All that is known, by the names of the files.
    var known: [String: UploadState] {
        state.withLock { state in
            state.follow(directory)
            return (state.loaded ?? [:]).merging(state.noted) { $1 }
        }
    }

    /// What became of the upload of the file `name`; `.some(nil)` if none was ever meant, nil if it is unknown now.
    /// Blocks on the disk the first time.
    func state(of name: String) -> UploadState?? {
        loadOnce()
        return state.withLock { state in
            if let noted = state.noted[name] { return noted }
            return state.loaded.map { $0[name] }
        }
    }

    /// Reads the database if that was not done yet. It may be called by several threads at once.
    func loadOnce() {
        let isDue = state.withLock { state in
            state.follow(directory)
            return state.loaded == nil && state.retryAt.map { $0 <= .now } ?? true
        }
        guard isDue else { return }
        let found = read()
        state.withLock { state in
            state.retryAt = .now + Self.retryInterval
            guard state.loaded == nil, let found else { return }
            if found.isWhole {
                state.loaded = found.states
            } else {
                // Nothing is known of the other files.
                state.noted.merge(found.states) { noted, _ in noted }
            }
        }
    }

    /// What the database says, and whether that is all that it ever said; nil if it cannot be read.
    private func read() -> (states: [String: UploadState], isWhole: Bool)? {
        // In an empty mount point there is no database either.
        guard (try? directory.checkMount()) != nil else { return nil }
        // Nothing waits where nothing was ever uploaded: a database that is lost or damaged must not fill the disk.
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
