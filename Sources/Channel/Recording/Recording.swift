// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import Catalogue
internal import Dispatch
internal import FanOut
internal import Logging
internal import Media
package import Segmenter
package import Status
internal import Studio
internal import Synchronization
internal import Upload

/// One recording of a channel, from its start to its stop: recorder, storage guard, retention, catalogue and uploader of
/// one directory. A recording that was stopped is not started again; the next one is another object.
///
/// All calls may come from any thread and return at once.
package final class Recording: SceneRecording {
    /// How long the recorder may take to finish its files. Who is in a hurry stops waiting, which is the channel's
    /// business.
    private static let finishLimit = Duration.seconds(24 * 3600)

    /// What a recording is told of the channel that it records.
    struct Program: Sendable {
        /// The channel's name, the beginning of each file's.
        let channel: String
        /// Whether the channel has live outputs, which go on air even if nothing can be recorded.
        var hasOutputs: Bool
        /// How long after its time a frame leaves the encoder; nil if it leaves in time.
        let delay: Duration?
        /// The longest time between two keyframes that is expected.
        let gop: Duration
        /// What is recorded.
        let description: StreamDescription
        /// Makes keyframes on request.
        let keyframes: any KeyframeRequester
        /// What the process's recordings need of each file system.
        let ledger: SpaceLedger
        let clock: any MonotonicClock
        let logger: Logger
        /// What is recorded, if it is not the program's own encoding.
        var rendition: Rendition?
        /// Whether that is what a source sent, whose keyframes come when they come.
        var isCopied = false
        /// Its sources, if they are recorded beside it.
        var sources: RecordedSources?
        /// Who is noted there, if it is not the channel: what is noted later takes the place of what was noted before.
        var owner: String?
        /// When the program's time 0 was on air; nil where that is told by when packets come.
        var start: UTCTime?
        /// Bytes that come at once when the recording begins, at most.
        var keptBytes = 0
        /// What a recording of a source has in common with that of its program; nil for the program's.
        var companion: Companion?
    }

    /// Where a recording begins.
    enum Beginning {
        /// With the program.
        case program
        /// With the next keyframe of the program under way, which is asked for.
        case nextKeyframe
        /// With all that is kept in memory of the program under way.
        case replay
    }

    /// What the recordings of a program and of its sources have in common.
    struct Companion: Sendable {
        /// Names the recorder's files as parts of one program.
        var run = Recorder.newRun
        /// By which files are named.
        var epoch = ProgramEpoch()
        /// What a source's needs of the disk; nil for the program's.
        var budget: StorageBudget?
        /// What the program's still needs of it.
        var promise = SpacePromise()

        /// The same for a source, by its number.
        func source(_ number: Int, budget: StorageBudget) -> Companion {
            Companion(run: "\(run).\(number)", epoch: epoch, budget: budget, promise: promise)
        }
    }

    /// The bytes that a program's recording still needs, once there is one.
    final class SpacePromise: Sendable {
        private let value = Mutex<(@Sendable () -> Int64)?>(nil)

        func give(_ bytes: @escaping @Sendable () -> Int64) { value.withLock { $0 = bytes } }

        var bytes: Int64 { value.withLock { $0 }?() ?? 0 }
    }

    /// The format of its files.
    package let format: RecordFormat
    /// The rendition that is recorded, and its name; nil for the program's own encoding.
    var stream: PacketStream? { program.rendition?.stream }
    var rendition: String? { program.rendition?.name }
    private let program: Program
    private let place: RecordingPlace
    private let recorder: Recorder
    private let storage: StorageGuard
    private let retention: Retention?
    /// The recordings of the program's sources.
    private let sources: SourceRecordings?
    /// Names the recorder's run, in whose program times its files are.
    let run: String
    /// The stretch of the program that will be on the disk; nil if that is not known before it is written.
    private let expected = Mutex<RecordedStretch?>(nil)

    /// Sets the recording up and asks the storage guard, which looks at the file system and may block as long as that
    /// does. Nothing is recorded yet. Throws ``ChannelFailure`` for rules that contradict themselves, and for a disk
    /// without room where nothing but the recording was asked for.
    init(
        _ configuration: ChannelConfiguration.Recording, in place: RecordingPlace, of program: Program
    ) throws(ChannelFailure) {
        let carriage = configuration.format == .ts ? Carriage.transportStream : .movie
        if let reason = carriage.refusal(of: program.description) {
            throw ChannelFailure(.configuration, "Recording: \(reason)")
        }
        let own = Self.budget(configuration, place, program.description)
        let (companion, budget) = (program.companion ?? Companion(), program.companion?.budget ?? own)
        try configuration.retention?.check(length: configuration.length, budget: own)
        let retention = configuration.retention.map { Self.retention($0, place, program, budget) }
        let sources = program.sources.map {
            SourceRecordings($0, configuration, of: program, as: companion, budget: own)
        }
        var settings = Self.settings(configuration, place.directory, program, companion)
        settings.observers = place.observers + (retention.map { [$0] } ?? [])
        let recorder = Recorder(
            configuration: settings, description: program.description, keyframes: sources ?? program.keyframes,
            clock: program.clock, logger: program.logger)
        let isSource = companion.budget != nil
        if !isSource {
            // What retention may delete is room for it, too.
            companion.promise.give { [weak recorder] in
                let written = recorder?.status.totalBytes ?? .max
                return max(0, own.rest(after: written) - (retention?.balance.reclaimableBytes ?? 0))
            }
        }
        storage = StorageGuard(
            directory: place.directory, budget: budget, warning: configuration.warning, control: recorder,
            writtenBytes: { recorder.status.totalBytes },
            retained: { retention?.balance ?? RetentionBalance() },
            makeRoom: { retention?.makeRoom(for: $0) }, room: { retention?.room ?? 0 },
            promised: { isSource ? companion.promise.bytes : 0 }, ledger: program.ledger,
            owner: program.owner ?? program.channel,
            // Those of sources are counted with the program's.
            recordings: isSource ? 0 : 1 + (program.sources?.videoCount ?? 0), clock: program.clock,
            logger: program.logger)
        (self.program, self.place, self.recorder) = (program, place, recorder)
        (self.retention, self.sources, run) = (retention, sources, companion.run)
        format = configuration.format
        let admission = storage.admit()
        if !admission.isAdmitted {
            guard !place.directory.isAwaited else {
                program.logger.warning(
                    """
                    recording waits for its disk and begins when that is mounted: \(admission.sentence) \
                    If the directory is on no disk of its own any more, give --no-record-mount.
                    """, metadata: [LogKey.event: "storage"])
                return
            }
            let refusal = "recording refused: \(admission.sentence)"
            guard program.hasOutputs else { throw ChannelFailure(.storageRefused, refusal) }
            program.logger.error("\(refusal)", metadata: [LogKey.event: "storage"])
        }
    }

    /// Takes packets from `hub` from now on, or what it keeps of those before. What a crash left open is completed beside
    /// the program, and `group` is left when that is done.
    func start(at hub: PacketStream, _ beginning: Beginning, in group: DispatchGroup) {
        switch beginning {
        case .program:
            if let sources { recorder.wait(until: sources.start(joinsRunningProgram: false, in: group)) }
            hub.add(recorder)
        case .nextKeyframe:
            if let sources {
                recorder.wait(until: sources.start(joinsRunningProgram: true, in: group))
            } else {
                program.keyframes.requestKeyframe(at: nil)
            }
            hub.add(recorder)
        case .replay: joinReplay(of: hub)
        }
        storage.start()
        retention?.start()
        place.start(in: group)
    }

    private func joinReplay(of hub: PacketStream) {
        guard let start = hub.joinReplay(recorder) else { return program.keyframes.requestKeyframe(at: nil) }
        let time = (program.start ?? .now).milliseconds + start / 1_000_000
        expected.withLock {
            $0 = RecordedStretch(
                run: run, start: start, end: start, fileStart: start, fileTime: UTCTime(milliseconds: time))
        }
    }

    /// Notes an event of the channel in the catalogue.
    func noteEvent(_ kind: String, _ text: String) { place.noteEvent(kind, text) }

    func record(_ scene: SceneEvent) { place.noteScene(scene) }

    /// Marks `time`, in nanoseconds of program time, in the file that is being written, and the moment in the catalogue.
    func mark(_ text: String, at time: Int64) {
        recorder.mark(text, at: time)
        place.noteEvent(CatalogueEvent.marker, text)
        sources?.mark(text, at: time)
    }

    /// Begins a new file with the next keyframe, or where sources are recorded, too, at one frame that is just ahead.
    func cut() {
        guard let sources else { return recorder.cutNow() }
        recorder.cut(at: sources.cut())
    }

    /// Begins a new file with the first keyframe of program time `time`, in nanoseconds, or later, which the caller asks for.
    func cut(at time: Int64) { recorder.cut(at: time) }

    /// Begins no file before program time `time`, in nanoseconds.
    func wait(until time: Int64) { recorder.wait(until: time) }

    /// Closes the open file, because nothing comes for now.
    func pause() { recorder.pause() }

    /// What follows up to program time `time`, in nanoseconds, does not come, for `reason`: it is a gap at the end.
    func miss(until time: Int64, because reason: String) { recorder.miss(until: time, because: reason) }

    /// Waits while the disk is more than half of the recorder's queue behind; for a program that no clock paces. Blocks.
    func waitForRoom() { recorder.waitForRoom() }

    /// Takes no more packets, closes the open file, hands over what is to be uploaded, notes everything in the
    /// catalogue, and then calls `completion`. What waits for a remote may take long: see ``cancelUploads()``.
    func finish(from hub: PacketStream, _ completion: @escaping @Sendable () -> Void) {
        hub.remove(recorder)
        storage.stop()
        retention?.stop()
        let all = DispatchGroup()
        if let (reason, end) = program.rendition?.encoder.missing { miss(until: end, because: reason) }
        sources?.finish(in: all)
        all.enter()
        recorder.finish(deadline: program.clock.now + Self.finishLimit.inNanoseconds) { [place] in
            place.finish { all.leave() }
        }
        all.notify(queue: .global(qos: .utility), execute: completion)
    }

    /// Leaves what is not uploaded to the next start.
    func cancelUploads() {
        place.cancelUploads()
        sources?.cancelUploads()
    }

    /// Does what an operator asks of the uploads of the program, or of `source`. An order to retry all includes the
    /// uploads of the sources. Returns at once, and says whether there are such uploads.
    func perform(_ order: UploadOrder, ofSource source: String?) -> Bool {
        if let source { return sources?.perform(order, of: source) ?? false }
        let hasUploads = place.perform(order)
        return order == .retryAll && sources?.perform(order, of: nil) == true || hasUploads
    }

    /// The stretch of the program that is on the disk; before the first file, the one that will be, or nil if that is
    /// not known.
    package var stretch: RecordedStretch? { recorder.stretch ?? expected.withLock { $0 } }

    /// A snapshot.
    package var status: RecordingStatus {
        var recorder = recorder.status
        if let failure = program.rendition?.encoder.failure { recorder.fail(because: failure) }
        return RecordingStatus(
            recorder: recorder, storage: storage.status, retention: retention?.status,
            upload: place.uploadStatus, sources: sources?.statuses ?? [])
    }

    private static func settings(
        _ configuration: ChannelConfiguration.Recording, _ directory: RecordDirectory, _ program: Program,
        _ companion: Companion
    ) -> RecorderConfiguration {
        // The program's recorder decides where a source's files end.
        let isLed = companion.budget != nil
        var settings = RecorderConfiguration(
            directory: directory, channel: program.channel, length: isLed ? nil : configuration.length,
            version: RelayVersion.text)
        settings.format = configuration.format
        settings.sync = configuration.sync
        settings.isClockAligned = configuration.isClockAligned && !isLed
        settings.localOffset = configuration.localOffset
        (settings.gop, settings.isCopied) = (program.gop, program.isCopied)
        (settings.run, settings.epoch) = (companion.run, companion.epoch)
        if let delay = program.delay { settings.encoderDelay = delay }
        settings.programStart = program.start
        settings.queueLimitBytes += program.keptBytes
        return settings
    }

    private static func budget(
        _ configuration: ChannelConfiguration.Recording, _ place: RecordingPlace, _ description: StreamDescription
    ) -> StorageBudget {
        StorageBudget(
            videoBitrate: plannedBitrate(description), audioBitrate: description.audio?.bitrate ?? 0,
            duration: configuration.expected, reserve: configuration.reserve,
            capacity: (try? SystemFreeSpace().space(at: place.directory.path))?.capacity)
    }

    /// What deletes old files.
    private static func retention(
        _ rules: RetentionRules, _ place: RecordingPlace, _ program: Program, _ budget: StorageBudget
    ) -> Retention {
        Retention(
            directory: place.directory, channel: program.channel, rules: rules, leastFree: budget.retentionGoalBytes,
            vetoes: place.vetoes, observers: place.observers, clock: program.clock,
            leastFreeOf: { [budget] capacity in
                var budget = budget
                budget.capacity = capacity
                return budget.retentionGoalBytes
            },
            newestRow: {
                ChannelLedger(directory: place.directory, channel: program.channel).newestEnd(before: .now)
            }, logger: program.logger)
    }

    /// Bits a second that the video will take. A recording of constant quality has no bitrate; it is computed at 0.15
    /// bits a pixel, which is more than x264 needs for most video at the usual quality of 23.
    private static func plannedBitrate(_ description: StreamDescription) -> Int {
        guard let video = description.video, let frames = video.frameFormat else { return 0 }
        if video.bitrate > 0 { return video.bitrate }
        return Int(Double(frames.width * frames.height) * (video.nominalRate?.value ?? 60) * 0.15)
    }
}
