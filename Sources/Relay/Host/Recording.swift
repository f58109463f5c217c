// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Control
internal import Dispatch
internal import FanOut
internal import Logging
internal import Media
internal import Segmenter

/// One recording of a channel, from its start to its stop: recorder, storage guard, retention, catalogue and uploader of
/// one directory. A recording that was stopped is not started again; the next one is another object.
///
/// All calls may come from any thread and return at once.
final class Recording: Sendable {
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
        let clock: any MonotonicClock
        let logger: Logger
    }

    /// What its files are.
    let format: RecordFormat
    private let program: Program
    private let place: RecordingPlace
    private let recorder: Recorder
    private let storage: StorageGuard
    private let retention: Retention?

    /// Sets the recording up and asks the storage guard, which looks at the file system and may block as long as that
    /// does. Nothing is recorded yet. Throws ``RelayFailure`` for rules that contradict themselves, and for a disk
    /// without room where nothing but the recording was asked for.
    init(
        _ configuration: ChannelConfiguration.Recording, in place: RecordingPlace, of program: Program
    ) throws(RelayFailure) {
        let description = program.description
        let carriage = configuration.format == .ts ? Carriage.transportStream : .movie
        if let reason = carriage.refusal(of: description) { throw RelayFailure(.usage, "Recording: \(reason)") }
        let budget = StorageBudget(
            videoBitrate: Self.plannedBitrate(description), audioBitrate: description.audio?.bitrate ?? 0,
            duration: configuration.expected, reserve: configuration.reserve,
            capacity: (try? SystemFreeSpace().space(at: place.directory.path))?.capacity)
        let retention = try Self.makeRetention(configuration, place, program, budget)
        var settings = Self.settings(configuration, place.directory, program)
        settings.observers = place.observers + (retention.map { [$0] } ?? [])
        let recorder = Recorder(
            configuration: settings, description: description, keyframes: program.keyframes, clock: program.clock,
            logger: program.logger)
        storage = StorageGuard(
            directory: place.directory, budget: budget, warning: configuration.warning, control: recorder,
            writtenBytes: { recorder.status.totalBytes },
            retained: { retention?.balance ?? RetentionBalance() },
            makeRoom: { retention?.makeRoom(for: $0) }, room: { retention?.room ?? 0 }, clock: program.clock,
            logger: program.logger)
        let admission = storage.admit()
        if !admission.isAdmitted {
            let refusal = "recording refused: \(admission.sentence)"
            guard program.hasOutputs else { throw RelayFailure(.storageRefused, refusal) }
            program.logger.error("\(refusal)")
        }
        (self.program, self.place, self.recorder, self.retention) = (program, place, recorder, retention)
        format = configuration.format
    }

    /// Takes packets from `hub` from now on; the first file begins with the next keyframe. With
    /// `joinsRunningProgram` one is asked for. What a crash left open is completed beside the program, and `group` is
    /// left when that is done.
    func start(at hub: PacketStream, joinsRunningProgram: Bool, in group: DispatchGroup) {
        hub.add(recorder)
        if joinsRunningProgram { program.keyframes.requestKeyframe(at: nil) }
        storage.start()
        retention?.start()
        place.start(in: group)
    }

    /// Notes an event of the channel in the catalogue.
    func noteEvent(_ kind: String, _ text: String) { place.noteEvent(kind, text) }

    /// Marks `time`, in nanoseconds of program time, in the file that is being written, and the moment in the catalogue.
    func mark(_ text: String, at time: Int64) {
        recorder.mark(text, at: time)
        place.noteEvent(CatalogueEvent.marker, text)
    }

    /// Begins a new file with the next keyframe.
    func cut() { recorder.cutNow() }

    /// Waits while the disk is more than half of the recorder's queue behind; for a program that no clock paces. Blocks.
    func waitForRoom() { recorder.waitForRoom() }

    /// Takes no more packets, closes the open file, hands over what is to be uploaded, notes everything in the
    /// catalogue, and then calls `completion`. What waits for a remote may take long: see ``cancelUploads()``.
    func finish(from hub: PacketStream, _ completion: @escaping @Sendable () -> Void) {
        hub.remove(recorder)
        storage.stop()
        retention?.stop()
        recorder.finish(deadline: program.clock.now + Self.finishLimit.inNanoseconds) { [place] in
            place.finish(completion)
        }
    }

    /// Leaves what is not uploaded to the next start.
    func cancelUploads() { place.cancelUploads() }

    /// What is on the disk; nil before the first file.
    var stretch: RecordedStretch? { recorder.stretch }

    /// A snapshot.
    var status: RecordingStatus {
        RecordingStatus(
            recorder: recorder.status, storage: storage.status, retention: retention?.status,
            upload: place.uploadStatus)
    }

    private static func settings(
        _ configuration: ChannelConfiguration.Recording, _ directory: RecordDirectory, _ program: Program
    ) -> RecorderConfiguration {
        var settings = RecorderConfiguration(
            directory: directory, channel: program.channel, length: configuration.length, version: RelayVersion.text)
        settings.format = configuration.format
        settings.sync = configuration.sync
        settings.isClockAligned = configuration.isClockAligned
        settings.localOffset = configuration.localOffset
        settings.gop = program.gop
        if let delay = program.delay { settings.encoderDelay = delay }
        return settings
    }

    /// What deletes old files, if anything does.
    private static func makeRetention(
        _ configuration: ChannelConfiguration.Recording, _ place: RecordingPlace, _ program: Program,
        _ budget: StorageBudget
    ) throws(RelayFailure) -> Retention? {
        guard let rules = configuration.retention else { return nil }
        if let text = rules.contradiction(length: configuration.length, budget: budget) {
            throw RelayFailure(.usage, text)
        }
        return Retention(
            directory: place.directory, channel: program.channel, rules: rules, leastFree: budget.retentionGoalBytes,
            vetoes: place.vetoes, observers: place.observers, clock: program.clock, logger: program.logger)
    }

    /// Bits a second that the video will take. A recording of constant quality has no bitrate; it is computed at 0.15
    /// bits a pixel, which is more than x264 needs for most video at the usual quality of 23.
    private static func plannedBitrate(_ description: StreamDescription) -> Int {
        guard let video = description.video, let frames = video.frameFormat else { return 0 }
        if video.bitrate > 0 { return video.bitrate }
        return Int(Double(frames.width * frames.height) * (video.nominalRate?.value ?? 60) * 0.15)
    }
}
