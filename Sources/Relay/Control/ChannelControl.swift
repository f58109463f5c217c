// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Channel
internal import Control
internal import FanOut
internal import Library
internal import Media
internal import Program
internal import Segmenter
internal import Status
internal import Studio
internal import Synchronization
internal import Upload

/// The API's view of one channel, with the commands to it. It exists longer than one run of the channel: an operator's
/// changes also apply to the next run, until the process ends or the configuration file overrides them.
///
/// Any thread may use it.
final class ChannelControl: ControlledChannel {
    /// The changes that operators have made to the configuration.
    private struct Changes {
        var added: [(name: String, address: String)] = []
        var replaced: [String: String] = [:]
        var removed: Set<String> = []
        var paused: Set<String> = []
        /// Whether the operator wants a recording; nil until an operator starts or stops one.
        var isRecording: Bool?
        /// The operator's choices for a program of several sources.
        var program: Director.Memory?
    }

    private struct State {
        var channel: Channel?
        var stage = ChannelReport.State.opening
        /// Whether the channel has ended as intended.
        var isDone = false
        var startedAt: UTCTime?
        var changes = Changes()
        /// The recording that is configured; nil if none is configured.
        var recording: ChannelConfiguration.Recording?
        /// The channel's recordings; nil if no directory for them is known.
        var archive: ChannelArchive?
        /// The recordings of each source in the same directory, including sources that are no longer recorded.
        var sources: [String: ChannelArchive] = [:]
        /// The clips of the recordings; nil until they are used for the first time.
        var clips: ClipStore?
        var marks = MarkLimit()
        /// The number of the current run. Reports of earlier runs are ignored.
        var run = 0

        /// Adopts a configuration of the recording of the channel `name`.
        mutating func configure(_ recording: ChannelConfiguration.Recording?, of name: String) {
            // If the directory or the template of names changes, a new store of clips is made, because clips belong to
            // the files in the directory. Otherwise the store is kept: it also knows clips that are being exported or
            // were just recorded.
            if recording?.directory != self.recording?.directory || recording?.template != self.recording?.template {
                (archive, sources, clips) = (nil, [:], nil)
            }
            self.recording = recording
            guard let recording else { return }
            archive = archive ?? recording.archive(of: name)
            for source in recording.sources where sources[source] == nil {
                sources[source] = recording.archive(of: name, source: source)
            }
        }
    }

    let name: String
    private let state: Mutex<State>

    /// Creates the control of a channel that is not open yet. `recording` is the configured recording.
    init(name: String, recording: ChannelConfiguration.Recording?) {
        self.name = name
        var state = State()
        state.configure(recording, of: name)
        self.state = Mutex(state)
    }

    // MARK: The channel's life

    /// Returns `configuration` as operators want it: with the recording if an operator has started it, and without it
    /// if an operator has stopped it. The disk of a stopped recording must not keep the channel off air.
    func wanted(_ configuration: ChannelConfiguration) -> ChannelConfiguration {
        var configuration = configuration
        switch state.withLock({ $0.changes.isRecording }) {
        case false?: configuration.recording = nil
        case true?: configuration.recording?.isForClips = false
        case nil: break
        }
        return configuration
    }

    /// Begins a new run of the channel, and returns its number. From now on, reports of earlier runs are ignored. So
    /// the new run need not wait for an earlier run that cannot end because a disk does not answer.
    func begin() -> Int {
        state.withLock { state in
            state.run += 1
            return state.run
        }
    }

    /// Records that the channel is open, and applies the operators' earlier changes again. The channel is reported on
    /// air only after these changes, immediately before the program runs, because a changed output may block until its
    /// port is open.
    func opened(_ channel: Channel, by run: Int) {
        let before = state.withLock { state -> (changes: Changes, recording: ChannelConfiguration.Recording?)? in
            guard state.run == run else { return nil }
            state.channel = channel
            return (state.changes, state.recording)
        }
        guard let (changes, recording) = before else { return }
        channel.keepReplay(of: recording)
        channel.keepPackets(of: recording)
        // A change that fails is skipped: the configuration may have changed since the operator made it.
        for name in changes.removed { try? channel.outputs.remove(name) }
        for (name, address) in changes.replaced { try? channel.replace(name, by: address) }
        for output in changes.added { _ = try? channel.add(address: output.address, name: output.name) }
        for name in changes.paused { try? channel.outputs.pause(name) }
        if let memory = changes.program { channel.director?.restore(memory) }
        state.withLock { state in
            guard state.run == run else { return }
            (state.stage, state.startedAt) = (.onAir, .now)
        }
    }

    /// Records that the channel is off air, and that its state is now `stage`. Also remembers the operators' choices
    /// for the program and, with `hasFailed`, that the program failed. `isDone` says whether the channel has ended as
    /// intended.
    func closed(_ stage: ChannelReport.State, by run: Int, hasFailed: Bool = false, isDone: Bool = false) {
        var memory = state.withLock { $0.run == run ? $0.channel : nil }?.director?.memory
        if hasFailed { memory?.noteFailure() }
        let clips = state.withLock { [memory] state -> ClipStore? in
            guard state.run == run else { return nil }
            (state.channel, state.stage, state.startedAt, state.isDone) = (nil, stage, nil, isDone)
            if let memory { state.changes.program = memory }
            return state.clips
        }
        // When the channel is over, waits until its clips are written, because the process may be about to end. A
        // channel that is reopened must not wait for the disk.
        if stage == .over { clips?.writer.flush() }
    }

    /// Adopts a new configuration of the recording. With `isChanged`, the configuration overrides an operator's choice.
    /// `isChanged` is false for a change that only results from the inputs, such as an additional source to record.
    func configure(recording: ChannelConfiguration.Recording?, isChanged: Bool) {
        state.withLock { state in
            state.configure(recording, of: name)
            if isChanged { state.changes.isRecording = nil }
        }
    }

    /// Forgets the operator's changes to the output `name`, because its configuration has changed.
    func forget(output name: String) {
        state.withLock { state in
            state.changes.replaced[name] = nil
            state.changes.removed.remove(name)
            state.changes.paused.remove(name)
        }
    }

    // MARK: State

    var report: ChannelReport {
        let (channel, stage, startedAt, wish, recording, isDone) = state.withLock {
            ($0.channel, $0.stage, $0.startedAt, $0.changes.isRecording, $0.recording, $0.isDone)
        }
        var report = ChannelReport(name: name, state: stage)
        report.isDone = isDone
        report.canRecord = recording != nil
        report.isRecordingWanted = wish ?? (recording?.isForClips == false)
        report.canClip = channel?.stream.description.video != nil && recording?.replay != nil
        guard let channel else { return report }
        let status = channel.status
        report.hasScenes = channel.director != nil
        report.heardLevels = channel.director?.heardLevels ?? [:]
        report.startedAt = startedAt
        report.tracks = channel.stream.description
        report.programSeconds = Double(status.programTime.nanoseconds) / 1e9
        report.status = status
        report.canClip =
            report.canClip
            || channel.stream.description.video != nil && status.recorder?.state == .recording
                && channel.recordings.first.current?.format != .ts
        report.certificateExpiry = channel.certificateExpiry
        return report
    }

    var stream: PacketStream? { state.withLock { $0.channel }?.stream }

    var clips: ClipStore? {
        guard let archive else { return nil }
        return state.withLock { state in
            if let clips = state.clips { return clips }
            let clips = ClipStore(archive, of: clipped)
            state.clips = clips
            return clips
        }
    }

    /// Whether a recording in the record directory is wanted, is running, or was stopped and has not finished its work.
    /// Recordings that are made only for clips count, too.
    var isArchiveBusy: Bool {
        guard let channel = state.withLock({ $0.channel }) else { return false }
        return channel.recordings.first.isBusy || channel.clips.isBusy
    }

    /// Whether a recording in the second directory is wanted, is running, or was stopped and has not finished its work.
    var isSecondBusy: Bool { state.withLock { $0.channel }?.recordings.second.isBusy ?? false }

    /// The recording that is configured; nil if none is configured.
    var configuredRecording: ChannelConfiguration.Recording? { state.withLock { $0.recording } }

    /// The number of bytes that the storage guard keeps free for the configured recording; 0 if none is configured. The
    /// bitrate is not known here, so the minimum of a minute of recording is not included. Reads the file system.
    var configuredReserve: Int64 {
        guard let recording = configuredRecording else { return 0 }
        let capacity = try? SystemFreeSpace().space(at: recording.directory).capacity
        return StorageBudget(
            videoBitrate: 0, audioBitrate: 0, duration: .zero, reserve: recording.reserve, capacity: capacity
        ).reserveBytes
    }

    var archive: ChannelArchive? { state.withLock { $0.archive } }

    func archive(ofSource source: String) -> ChannelArchive? { state.withLock { $0.sources[source] } }

    func program() throws(Refusal) -> Director {
        guard let director = try open().director else {
            throw Refusal(.conflict, "The channel has one source: nothing can be switched.")
        }
        return director
    }

    func open() throws(Refusal) -> Channel {
        guard let channel = state.withLock({ $0.channel }) else {
            throw Refusal(.unavailable, "The channel is not on air.")
        }
        return channel
    }
}

// MARK: Outputs

extension ChannelControl {
    func addOutput(_ address: String) throws(Refusal) -> String {
        let channel = try open()
        let name = try Self.translating { () throws in
            try channel.checkPlace(ofRequested: address)
            return try channel.add(address: address)
        }
        state.withLock { $0.changes.added.append((name, address)) }
        return name
    }

    func replaceOutput(_ name: String, by address: String) throws(Refusal) {
        let channel = try open()
        let isPaused = state.withLock { $0.changes.paused.contains(name) }
        try Self.translating { () throws in
            try channel.checkPlace(ofRequested: address)
            try channel.replace(name, by: address, isPaused: isPaused)
        }
        state.withLock { state in
            if let index = state.changes.added.firstIndex(where: { $0.name == name }) {
                state.changes.added[index].address = address
            } else {
                state.changes.replaced[name] = address
            }
        }
    }

    func removeOutput(_ name: String) throws(Refusal) {
        let channel = try open()
        try Self.translating { () throws in try channel.outputs.remove(name) }
        state.withLock { state in
            if state.changes.added.contains(where: { $0.name == name }) {
                state.changes.added.removeAll { $0.name == name }
            } else {
                state.changes.removed.insert(name)
            }
            state.changes.replaced[name] = nil
            state.changes.paused.remove(name)
        }
        channel.note("the operator removed the output \(name)", output: name)
    }

    func setPaused(_ isPaused: Bool, output name: String) throws(Refusal) {
        let channel = try open()
        try Self.translating { () throws in
            if isPaused { try channel.outputs.pause(name) } else { try channel.outputs.resume(name) }
            try channel.outputs.waitUntilDone(name)
        }
        state.withLock { state in
            if isPaused { state.changes.paused.insert(name) } else { state.changes.paused.remove(name) }
        }
    }

    func retryOutput(_ name: String) throws(Refusal) {
        let channel = try open()
        try Self.translating { () throws in
            try channel.outputs.retryNow(name)
            try channel.outputs.waitUntilDone(name)
        }
    }

    /// Returns the result of `work`. Converts errors of `work` for the API.
    static func translating<Value>(_ work: () throws -> Value) throws(Refusal) -> Value {
        do {
            return try work()
        } catch let error as OutputSetError {
            switch error {
            case .nameTaken: throw Refusal(.conflict, "\(error)")
            case .unknown: throw Refusal(.notFound, "\(error)")
            case .over: throw Refusal(.unavailable, "\(error)")
            case .refused: throw Refusal(.unusable, "\(error)")
            }
        } catch let error as RecordingSlotError {
            throw Refusal(error == .over ? .unavailable : .conflict, "\(error)")
        } catch let error as Refusal {
            throw error
        } catch {
            throw Refusal(.unusable, "\(error)")
        }
    }
}

// MARK: The recording, and the program

extension ChannelControl {
    func startRecording() throws(Refusal) {
        let channel = try open()
        guard let recording = state.withLock({ $0.recording }) else {
            throw Refusal(
                .conflict, "There is no directory to record to. Name one: --record, or recording: in the file.")
        }
        try Self.translating { () throws in try channel.startRecording(recording) }
        state.withLock { $0.changes.isRecording = true }
        channel.note("the operator started the recording")
    }

    func stopRecording() throws(Refusal) {
        let channel = try open()
        try Self.translating { () throws in try channel.stopRecording() }
        state.withLock { $0.changes.isRecording = false }
        channel.note("the operator stopped the recording")
    }

    func splitRecording() throws(Refusal) {
        guard try open().cutRecording() else { throw Refusal(.conflict, "\(RecordingSlotError.notRecording)") }
    }

    func retryUploads() throws(Refusal) {
        guard try open().recordings.retryUploads() else { throw Self.nothingUploaded }
    }

    func setUploaded(_ isWanted: Bool, recording id: String, source: String?) throws(Refusal) {
        guard let archive = source.map(archive(ofSource:)) ?? archive else {
            throw Refusal(.notFound, "The channel has no directory of recordings.")
        }
        let name = try archive.finishedName(of: id)
        try perform(isWanted ? .retry(name) : .giveUp(name), ofSource: source)
        try open().note("the operator \(isWanted ? "queued an upload again" : "gave an upload up"): \(name)")
    }

    private func perform(_ order: UploadOrder, ofSource source: String?) throws(Refusal) {
        guard try open().recordings.first.perform(order, ofSource: source) else { throw Self.nothingUploaded }
    }

    private static var nothingUploaded: Refusal {
        Refusal(.conflict, "Nothing is uploaded now: the channel is not being recorded with --upload or --on-segment.")
    }

    func requestKeyframe() throws(Refusal) { try open().requestKeyframe() }

    func mark(_ text: String) throws(Refusal) -> Marker {
        let channel = try open()
        guard state.withLock({ $0.marks.admit(at: SystemClock().now) }) else {
            throw Refusal(.tooMany, "A channel takes \(MarkLimit.most) markers a minute.")
        }
        let (time, now) = (channel.status.programTime, UTCTime.now)
        channel.mark(text, at: time)
        return Marker(time: now.extended, programSeconds: Double(time.nanoseconds) / 1e9, text: text)
    }
}

extension ChannelConfiguration.Recording {
    /// Returns the recordings of `channel`, or those of its source `source`.
    fileprivate func archive(of channel: String, source: String? = nil) -> ChannelArchive {
        ChannelArchive(
            directory, mount: mount, template: template, channel: channel, source: source, rules: retention)
    }
}
