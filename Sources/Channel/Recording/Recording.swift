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

/// One recording of a channel, from its start to its stop. It consists of the recorder, storage guard, retention,
/// catalogue and uploader of one directory. A recording that was stopped is never restarted; the next recording is a
/// new object.
///
/// All calls may be made on any thread. They return at once, unless their comments say that they block.
package final class Recording: SceneRecording {
    /// The time that the recorder has to finish its files. A channel that must end earlier stops waiting for the
    /// recorder.
    private static let finishLimit = Duration.seconds(24 * 3600)

    /// Describes what is recorded: a channel's program, or a source of a channel.
    struct Program: Sendable {
        /// The channel's name, with which each file name begins.
        let channel: String
        /// Whether the channel has live outputs, which go on air even if nothing can be recorded.
        var hasOutputs: Bool
        /// How long after its presentation time a frame leaves the encoder; nil if frames leave the encoder before that
        /// time, or if the recorded video is not encoded here.
        let delay: Duration?
        /// The longest expected time between two keyframes.
        let gop: Duration
        /// The tracks that are recorded.
        let description: StreamDescription
        /// Makes keyframes on request.
        let keyframes: any KeyframeRequester
        /// Tracks the space that all recordings of the process need on each file system.
        let ledger: SpaceLedger
        /// The memory that the queue of the recorder shares with those of other recorders.
        var queues: QueueBudget
        let clock: any MonotonicClock
        let logger: Logger
        /// The rendition that is recorded; nil means the program's own encoding.
        var rendition: Rendition?
        /// Whether the source itself encoded the recorded packets, so that keyframes cannot be requested.
        var isCopied = false
        /// The program's sources, if they are recorded in addition to the program; otherwise nil.
        var sources: RecordedSources?
        /// The name of the recording's entry in the space ledger; nil means the channel's name. A new entry replaces an
        /// earlier entry of the same name.
        var owner: String?
        /// When the program's time 0 was on air; nil means that the recorder computes this from the arrival of the
        /// packets.
        var start: UTCTime?
        /// The maximum size, in bytes, of the packets that were kept in memory and that arrive at once when the
        /// recording begins.
        var keptBytes = 0
        /// The data that a source's recording shares with the program's recording; nil means that this is the program's
        /// recording.
        var companion: Companion?
    }

    /// The position in the program at which a recording begins.
    enum Beginning {
        /// At the program's beginning.
        case program
        /// At the next keyframe of the running program, which is requested.
        case nextKeyframe
        /// At the oldest packet of the running program that is kept in memory.
        case replay
    }

    /// The data that the recordings of a program and of its sources share.
    struct Companion: Sendable {
        /// Identifies the files that were recorded as parts of one program.
        var run = Recorder.newRun
        /// The shared time from which file names are derived.
        var epoch = ProgramEpoch()
        /// The space that a source's recording needs on the disk; nil means that this is the program's recording.
        var budget: StorageBudget?
        /// The space that the program's recording still needs on the disk, which the sources' recordings must leave
        /// free.
        var promise = SpacePromise()

        /// Returns the companion for the recording of source number `number`.
        func source(_ number: Int, budget: StorageBudget) -> Companion {
            Companion(run: "\(run).\(number)", epoch: epoch, budget: budget, promise: promise)
        }
    }

    /// Reports how many bytes a program's recording still needs; 0 before there is a recording.
    final class SpacePromise: Sendable {
        private let value = Mutex<(@Sendable () -> Int64)?>(nil)

        func give(_ bytes: @escaping @Sendable () -> Int64) { value.withLock { $0 = bytes } }

        var bytes: Int64 { value.withLock { $0 }?() ?? 0 }
    }

    /// The format of the recording's files.
    package let format: RecordFormat
    /// The stream of the recorded rendition; nil means the program's own encoding.
    var stream: PacketStream? { program.rendition?.stream }
    var rendition: String? { program.rendition?.name }
    /// The path of the directory that is recorded to.
    var directory: String { place.directory.path }
    private let program: Program
    private let place: RecordingPlace
    private let recorder: Recorder
    private let storage: StorageGuard
    private let retention: Retention?
    /// The recordings of the program's sources.
    private let sources: SourceRecordings?
    /// Identifies the recorder's run. The program times of files can be compared only within one run.
    let run: String
    /// The part of the program that will be on the disk, if that is known before it is written; otherwise nil.
    private let expected = Mutex<RecordedStretch?>(nil)

    /// Sets the recording up, and asks the storage guard whether there is enough space. The guard queries the file
    /// system, so the call blocks as long as the file system does. Nothing is recorded yet. Throws ``ChannelFailure``
    /// for tracks that the files cannot contain, for rules that contradict each other and, if the channel has no
    /// outputs, for a full disk.
    init(
        _ configuration: ChannelConfiguration.Recording, in place: RecordingPlace, of program: Program
    ) throws(ChannelFailure) {
        let carriage = configuration.format == .ts ? Carriage.transportStream : .movie
        let attempt = ChannelFailure.Attempt.record(configuration.directory)
        if let reason = carriage.refusal(of: program.description) {
            throw ChannelFailure(.configuration, attempt, saying: "Recording: \(reason)")
        }
        if configuration.format == .ts, program.description.video?.displayMatrix != nil {
            program.logger.warning(
                "the rotation of the video is not carried by a transport stream: its frames are recorded as they are coded"
            )
        }
        let own = Self.budget(configuration, place, program.description)
        let (companion, budget) = (program.companion ?? Companion(), program.companion?.budget ?? own)
        if let text = configuration.retention?.contradiction(length: configuration.length, budget: own) {
            throw ChannelFailure(.configuration, attempt, saying: text)
        }
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
            // The space that the program's recording still needs. Retention can delete files to make room for this
            // recording, so the size of those files is subtracted.
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
            // The program's recording reserves space for the recordings of the sources as well, so a source's recording
            // counts 0.
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
                    """, metadata: [LogKey.event: "\(EventKind.storage.rawValue)"])
                return
            }
            let refusal = "recording refused: \(admission.sentence)"
            guard program.hasOutputs else { throw ChannelFailure(.storageRefused, attempt, saying: refusal) }
            program.logger.error("\(refusal)", metadata: [LogKey.event: "\(EventKind.storage.rawValue)"])
        }
    }

    /// Takes packets from `hub` from now on; with `.replay`, also takes the packets that `hub` keeps in memory. Files
    /// that a crash left open are completed in the background; `group` is left when they are completed.
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
        place.start(in: group, retention: retention)
    }

    private func joinReplay(of hub: PacketStream) {
        guard let start = hub.joinReplay(recorder) else { return program.keyframes.requestKeyframe(at: nil) }
        let time = (program.start ?? .now).milliseconds + start.nanoseconds / 1_000_000
        expected.withLock {
            $0 = RecordedStretch(
                run: run, start: start, end: start, fileStart: start, fileTime: UTCTime(milliseconds: time))
        }
    }

    /// Records an event of the channel in the catalogue.
    func noteEvent(_ kind: EventKind, _ text: String) { place.noteEvent(kind, text) }

    func record(_ scene: SceneEvent) { place.noteScene(scene) }

    /// Writes the mark `text` to the current file, at `time`, and to the catalogue.
    func mark(_ text: String, at time: ProgramInstant) {
        recorder.mark(text, at: time)
        place.noteEvent(.marker, text)
        sources?.mark(text, at: time)
    }

    /// Begins a new file with the next keyframe. If sources are also recorded, the new files of the program and of all
    /// sources begin at the same frame, which is a few frames later than now.
    func cut() {
        guard let sources else { return recorder.cutNow() }
        recorder.cut(at: sources.cut())
    }

    /// Begins a new file with the first keyframe at or after `time`; the caller requests that keyframe.
    func cut(at time: ProgramInstant) { recorder.cut(at: time) }

    /// Begins no file before `time`.
    func wait(until time: ProgramInstant) { recorder.wait(until: time) }

    /// Closes the open file, because no more packets arrive.
    func pause() { recorder.pause() }

    /// Records a gap at the end of the recording, because the packets up to `time` will never arrive. `reason` says why
    /// they are missing.
    func miss(until time: ProgramInstant, because reason: String) { recorder.miss(until: time, because: reason) }

    /// Blocks while the queue of any recorder of `recordings` is more than half full, or holds more than half a second of
    /// media. Used by a program that no clock paces. If the disk of one recording hangs for `patience`, the program
    /// continues without it as long as another recording does.
    static func waitForRoom(in recordings: [Recording], patience: Duration) {
        Recorder.waitForRoom(in: recordings.map(\.recorder), patience: patience)
    }

    /// Ends the recording: closes the open file, hands files over for upload and completes the catalogue. Then calls
    /// `completion`. Uploads can take long: see ``cancelUploads()``.
    func finish(from hub: PacketStream, _ completion: @escaping @Sendable () -> Void) {
        hub.remove(recorder)
        storage.stop()
        retention?.stop()
        let all = DispatchGroup()
        if let (reason, end) = program.rendition?.encoder.missing { miss(until: end, because: reason) }
        sources?.finish(in: all)
        all.enter()
        recorder.finish(deadline: program.clock.now + Self.finishLimit) { [place] in
            place.finish { all.leave() }
        }
        all.notify(queue: .global(qos: .utility), execute: completion)
    }

    /// Stops uploading. Files that are not uploaded yet are uploaded when a recording in the same directory is next
    /// started.
    func cancelUploads() {
        place.cancelUploads()
        sources?.cancelUploads()
    }

    /// Carries out an operator's order about the uploads of the program, or of `source`. The order to retry all uploads
    /// also applies to the sources. Returns at once; the result says whether uploads are configured.
    func perform(_ order: UploadOrder, ofSource source: String?) -> Bool {
        if let source { return sources?.perform(order, of: source) ?? false }
        let hasUploads = place.perform(order)
        return order == .retryAll && sources?.perform(order, of: nil) == true || hasUploads
    }

    /// The part of the program that is on the disk. Before the first file, this is the part that will be on the disk,
    /// or nil if that part is not known.
    package var stretch: RecordedStretch? { recorder.stretch ?? expected.withLock { $0 } }

    /// A snapshot of the recording's status.
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
        // True for the recording of a source. The program's recorder decides where a source's files end, so the
        // recording of a source has no file length of its own.
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
        settings.ownQueueBytes += program.keptBytes
        settings.queues = program.queues
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

    /// Makes the object that deletes old files.
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

    /// Returns the expected bitrate of the video, in bits per second. A recording of constant quality has no bitrate.
    /// Its bitrate is estimated at 0.15 bits per pixel, which is more than x264 needs for most video at the usual
    /// quality of 23.
    private static func plannedBitrate(_ description: StreamDescription) -> Int {
        guard let video = description.video, let frames = video.frameFormat else { return 0 }
        if video.bitrate > 0 { return video.bitrate }
        return Int(Double(frames.width * frames.height) * (video.nominalRate?.value ?? 60) * 0.15)
    }
}
