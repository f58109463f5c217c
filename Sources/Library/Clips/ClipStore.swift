// SPDX-License-Identifier: Apache-2.0

internal import Archive
package import Catalogue
internal import Dispatch
internal import Logging
package import Media
package import Segmenter
internal import Stitcher
internal import Synchronization

/// The clips of one channel, for the API. Requests to begin or end a clip take effect at once; the clip is written to
/// the catalogue in the background.
///
/// Any thread may call the methods. They read the files of the recordings, and locate clips only by the program's own
/// frame numbers and times.
package final class ClipStore: Sendable {
    /// A program that is being recorded.
    package struct Recorded {
        var program: ClipMachine.Program
        var stretch: RecordedStretch
        /// The reason why no clip can begin now; nil if a clip can begin.
        var refusal: Refusal?
        /// Whether the program is recorded only for clips.
        var isForClips = false
        /// Whether writing is suspended, because the disk is full or fails.
        var isSuspended = false

        /// Creates the state of a program that is recorded in `stretch`.
        package init(
            program: ClipMachine.Program, stretch: RecordedStretch, refusal: Refusal? = nil,
            isForClips: Bool = false, isSuspended: Bool = false
        ) {
            (self.program, self.stretch, self.refusal, self.isForClips) = (program, stretch, refusal, isForClips)
            self.isSuspended = isSuspended
        }

        /// The number of the frame up to which the recording on the disk is complete, exclusive. While the recorder
        /// runs, the last second does not count, because frames with earlier presentation times, and audio, may still
        /// follow.
        var end: Int64 {
            let margin = refusal == nil ? Duration.seconds(1) : .zero
            return program.rate.frame(at: max(stretch.start, stretch.end - margin)).number
        }
    }

    /// The functions through which clips access the program and its recording.
    package struct Source: Sendable {
        /// Returns the program time of the newest frame, in seconds; nil if the program is not on air. Returns at once.
        let newest: @Sendable () -> Double?
        /// Returns the current recordings. Throws if the channel is not on air.
        let recorded: @Sendable () throws(Refusal) -> [Recorded]
        /// Begins a recording that is made only for clips. It starts with the packets that are kept in memory. Throws
        /// if it cannot begin.
        let begin: @Sendable () throws(Refusal) -> Void
        /// Ends the recording that was begun only for clips. Returns at once.
        let end: @Sendable () -> Void

        package init(
            newest: @escaping @Sendable () -> Double?, recorded: @escaping @Sendable () throws(Refusal) -> [Recorded],
            begin: @escaping @Sendable () throws(Refusal) -> Void, end: @escaping @Sendable () -> Void
        ) {
            (self.newest, self.recorded, self.begin, self.end) = (newest, recorded, begin, end)
        }
    }

    let archive: ChannelArchive
    package let writer: ClipWriter
    let source: Source
    let state = Mutex(State())
    /// The number of running commands that may need a recording. A recording that was begun only for clips continues
    /// until these commands end. The lock is also held while that recording is ended, which returns at once.
    let commands = Mutex(0)
    /// The serial queue that begins the recording for clips, so that only one begins. It also checks whether the
    /// recording is still needed.
    let queue: DispatchQueue
    /// The queue that reads the files of clips in the background, so that no client waits.
    let measuring: DispatchQueue

    /// Creates the store of the clips of the recordings in `archive`. Reads nothing yet.
    package init(_ archive: ChannelArchive, of source: Source) {
        (self.archive, self.source) = (archive, source)
        writer = ClipWriter(archive)
        queue = DispatchQueue(label: "relay.replay.\(archive.channel)", qos: .utility)
        measuring = DispatchQueue(label: "relay.measure.\(archive.channel)", qos: .utility)
    }

    // MARK: Reading clips

    /// All clips, in the order of time.
    package func list() throws(Refusal) -> [RecordedClip] {
        try load()
        let now = try look()
        // The known properties of the clips are shown even if their files cannot be checked now.
        try? lookForFiles()
        return state.withLock { state in
            state.machine.clips.compactMap { state.shown($0, now) }
        }.sorted { ($0.start, $0.id) < ($1.start, $1.id) }
    }

    /// Returns the clip `id` in its current state. Throws if there is no such clip.
    package func clip(_ id: String) throws(Refusal) -> RecordedClip {
        try load()
        return try known(id)
    }

    /// Returns the clip `id` like ``clip(_:)``, but only if its row was read before.
    func known(_ id: String) throws(Refusal) -> RecordedClip {
        let now = try look()
        guard
            let clip = state.withLock({ state in
                state.machine.clip(id).flatMap { state.shown($0, now) }
            })
        else { throw Self.unknown }
        return clip
    }

    /// The pause between two checks whether the files of exported clips still exist.
    private static let fileInterval = Duration.seconds(10)

    static var unknown: Refusal { Refusal(.notFound, "There is no clip of this name.") }
}

// MARK: Updating clips

extension ClipStore {
    /// Updates the state of the clips from the state of the recordings. Returns the current recordings.
    @discardableResult
    func look() throws(Refusal) -> [Recorded] {
        let now = (try? source.recorded()) ?? []
        let complete = state.withLock { state -> [String] in
            let changed = now.flatMap { recorded in
                state.machine.complete(recorded.program, recordedUpTo: recorded.end, isSuspended: recorded.isSuspended)
            }
            for id in changed { writer.note(state.row(id, channel: archive.channel)) }
            return changed.filter { state.machine.clip($0)?.isComplete ?? false }
        }
        measureLater(complete)
        let over = state.withLock { $0.machine.openRuns }.subtracting(now.map(\.program.run))
        guard !over.isEmpty, let directory = try archive.directory() else { return now }
        // A run is not closed while its recorder may still be closing its last file.
        for run in over.subtracting(directory.livingRuns()) { try close(run) }
        return now
    }

    /// Ends the clips of `run`, whose recorder has ended. No clip ends later than the last recorded frame.
    private func close(_ run: String) throws(Refusal) {
        let files = try archive.files(ofRun: run)
        let closed = state.withLock { state -> [String] in
            let end = files.map(\.program.upperBound).max() ?? .zero
            let rate = state.machine.clips.first { $0.run == run }.flatMap { state.facts[$0.id]?.rate }
            // Without a clip, the run is closed at frame 0: requests to end clips of this run may have arrived before
            // the requests to begin these clips.
            let frame = rate?.frame(at: end).number ?? 0
            let closed = state.machine.close(run: run, at: frame)
            for id in closed { writer.note(state.row(id, channel: archive.channel)) }
            return closed
        }
        measureLater(closed)
    }

    /// Finds the unprotected clips whose files are all gone. Does nothing if this was checked in the last 10 s.
    private func lookForFiles() throws(Refusal) {
        let rows = state.withLock { state -> [CatalogueClip] in
            if let last = state.lookedForFiles, last.duration(to: .now) < Self.fileInterval { return [] }
            return state.machine.clips.filter(\.isComplete)
                .compactMap { state.row($0.id, channel: archive.channel) }.filter { $0.released != nil }
        }
        guard !rows.isEmpty else { return }
        let files = try archive.files(ofRuns: Set(rows.map(\.clip.run)))
        let gone = rows.filter { row in
            guard let times = row.times else { return false }
            return !(files[row.clip.run] ?? []).contains { $0.program.overlaps(times) }
        }
        state.withLock { ($0.gone, $0.lookedForFiles) = (Set(gone.map(\.id)), .now) }
    }

    /// Reads the catalogue's clips if none were read yet. Afterwards it does not access the disk, so that a request to
    /// begin or end a clip does not wait for a disk that hangs.
    func loadFirst() throws(Refusal) {
        if state.withLock({ $0.loaded == nil }) { try load() }
    }

    /// Reads the catalogue's clips if the directory at the archive's path is not the one from which they were read
    /// last: a disk can be mounted over the empty directory that was there at the start, or replace another disk.
    func load() throws(Refusal) {
        if let loaded = state.withLock({ $0.loaded }), loaded.isFound(at: archive.path) { return }
        guard let identity = DirectoryIdentity(archive.path), let directory = try archive.directory() else { return }
        let rows = try archive.telling { try archive.ledger(directory).clips() }
        // If another disk was mounted meanwhile, it is not known from which disk the rows are.
        guard identity.isFound(at: archive.path) else { return }
        state.withLock { state in
            state.loaded = identity
            // A clip may have begun before the directory existed, and is newer than its row. The row of a removed clip
            // may still be on a disk that was away.
            let stored = rows.filter { state.facts[$0.id] == nil && !state.removed.contains($0.id) }
            state.machine.add(stored.map(\.clip))
            for row in stored {
                state.facts[row.id] = Facts(
                    rate: row.rate, start: row.start, name: row.name, released: row.released,
                    audioOffset: row.audioOffset)
            }
        }
    }
}

// MARK: State

extension ClipStore {
    /// The properties of a clip besides its frames.
    struct Facts {
        let rate: FrameRate
        let start: Int64
        var name: String?
        var pressed: UTCTime?
        var released: Int64?
        var audioOffset: Int64?
        var job: String?
    }

    struct State {
        var machine = ClipMachine()
        var facts: [String: Facts] = [:]
        /// The directory from which clips were read last; nil if none were read yet.
        var loaded: DirectoryIdentity?
        /// The IDs of the clips that were removed last.
        var removed: [String] = []
        /// Clips whose files are all deleted. `lookedForFiles` is the time of the last check.
        var gone: Set<String> = []
        var lookedForFiles: ContinuousClock.Instant?
    }
}

extension ClipStore.State {
    /// The maximum number of IDs of removed clips that are kept.
    private static let mostRemoved = ClipMachine.mostClips

    /// Removes the clip `id`, and forgets everything about it except its ID, because another clip may get the ID.
    /// Returns false if there is no such clip.
    mutating func remove(_ id: String) -> Bool {
        guard machine.remove(id) != nil else { return false }
        facts[id] = nil
        gone.remove(id)
        removed = removed.suffix(Self.mostRemoved - 1) + [id]
        return true
    }

    /// The clip's row for the catalogue; nil if there is no such clip.
    func row(_ id: String, channel: String) -> CatalogueClip? {
        guard let clip = machine.clip(id), let facts = facts[id] else { return nil }
        var row = CatalogueClip(clip, channel: channel, rate: facts.rate, start: facts.start, name: facts.name)
        (row.released, row.audioOffset) = (facts.released, facts.audioOffset)
        return row
    }

    /// The clip as the API reports it.
    func shown(_ clip: ClipMachine.Clip, _ now: [ClipStore.Recorded]) -> RecordedClip? {
        guard let facts = facts[clip.id] else { return nil }
        let newest = now.first { $0.program.run == clip.run }?.program.frames.upperBound
        let frames = max(0, (clip.end ?? newest ?? clip.first) - clip.first)
        let base = facts.rate.timeBase
        func seconds(_ frames: Int64) -> Double { base.duration(frames).inSeconds }
        let state: RecordedClip.State =
            if !clip.isComplete {
                clip.end == nil ? .running : .ending
            } else {
                frames == 0 ? .empty : gone.contains(clip.id) ? .gone : .done
            }
        var shown = RecordedClip(
            id: clip.id, name: facts.name, state: state, start: UTCTime(milliseconds: facts.start).extended,
            programSeconds: seconds(clip.first), durationSeconds: seconds(frames), frames: frames)
        shown.pressed = facts.pressed?.extended
        if clip.lacking > 0 { shown.lackingSeconds = seconds(clip.lacking) }
        shown.audioOffsetSeconds = facts.audioOffset.map { Double($0) / 1e9 }
        shown.isHeld = facts.released == nil
        shown.export = facts.job
        return shown
    }
}

/// Measures the properties of clips that only the clips' files contain.
extension ClipStore {
    /// Measures, in the background and one after the other, where the audio of the complete clips `ids` begins.
    private func measureLater(_ ids: [String]) {
        guard !ids.isEmpty else { return }
        measuring.async { [self] in ids.forEach(measure) }
    }

    private func measure(_ id: String) {
        // An error is ignored here, because an export of the clip will report it.
        guard let row = row(id), row.audioOffset == nil, let offset = try? audioOffset(of: row) else { return }
        state.withLock { state in
            guard state.facts[id] != nil else { return }
            state.facts[id]?.audioOffset = offset
            writer.note(state.row(id, channel: archive.channel))
        }
    }

    /// How much later than the first frame the audio would begin, in nanoseconds, in an exported file with exactly the
    /// frames of `row`; nil without audio.
    private func audioOffset(of row: CatalogueClip) throws -> Int64? {
        guard let times = row.times, !times.isEmpty, let directory = try archive.directory() else { return nil }
        let clip = ClipExport(
            run: row.clip.run, times: times, frameDuration: row.frameDuration, isRecorded: { true }, finished: { _ in })
        let chosen = try clip.selection(try archive.files(ofRun: clip.run), in: directory.path)
        let range = RecordedRange(files: chosen.files, range: chosen.range, program: times)
        let request = StitchRequest(output: "", replaces: false, version: RelayVersion.text)
        return try StitchJob(range, request, isCancelled: { false }).audioOffset
    }
}
