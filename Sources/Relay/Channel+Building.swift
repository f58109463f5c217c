// SPDX-License-Identifier: Apache-2.0

internal import Catalogue
internal import Dispatch
internal import Encoder
internal import FanOut
internal import Ingest
internal import Logging
internal import Media
internal import Program
internal import Publisher
internal import Segmenter
internal import Synchronization
internal import Upload

/// The steps of building a channel, each of which can fail with its own exit status.
extension Channel {
    /// The opened inputs and the program's shape that follows from them.
    struct Inputs {
        let video: any MediaSource
        let separateAudio: (any MediaSource)?
        let format: VideoFormat

        var sources: [any MediaSource] { [video] + (separateAudio.map { [$0] } ?? []) }
    }

    static func open(_ configuration: ChannelConfiguration, _ logger: Logger) throws -> Inputs {
        let options = IngestOptions(
            loop: configuration.loops, size: configuration.size, frameRate: configuration.frameRate)
        let video = try openSource(configuration.input, options, logger)
        guard let native = video.description.video else {
            throw RelayFailure(
                .inputUnreadable,
                "The input \(configuration.input) has no video: give --input something with a frame.")
        }
        let audio = try configuration.audioInput.map { location in
            let source = try openSource(location, IngestOptions(loop: configuration.loops), logger)
            guard source.description.hasAudio else {
                throw RelayFailure(.inputUnreadable, "The audio input \(location) has no audio.")
            }
            return source
        }
        if !configuration.isPaced, video.description.isLive {
            throw RelayFailure(
                .usage, "--unpaced is for files: \(configuration.input) comes at its own pace. Leave it out.")
        }
        return Inputs(video: video, separateAudio: audio, format: shape(native, configuration))
    }

    private static func openSource(
        _ location: InputLocation, _ options: IngestOptions, _ logger: Logger
    ) throws -> any MediaSource {
        do {
            return try SourceOpener.open(location, options: options, logger: logger)
        } catch {
            throw RelayFailure(.inputUnreadable, "\(error)")
        }
    }

    /// The input's own shape, but for what the flags say. A program of a given size has square pixels.
    static func shape(_ native: VideoFormat, _ configuration: ChannelConfiguration) -> VideoFormat {
        var format = native
        if let size = configuration.size, size != FrameSize(width: native.width, height: native.height) {
            format.width = size.width
            format.height = size.height
            format.sampleAspectRatio = .square
        }
        if let frameRate = configuration.frameRate { format.frameRate = frameRate }
        return format
    }

    static func openEncoder(
        _ configuration: ChannelConfiguration, format: VideoFormat, sink: any PacketSink, clock: any MonotonicClock
    ) throws -> EncoderSession {
        do {
            return try EncoderSession(
                settings: configuration.encoder, video: format, audio: .program, sink: sink, clock: clock)
        } catch {
            throw RelayFailure(.internalError, "The encoder cannot be opened: \(error).")
        }
    }

    static func makeOutputs(
        _ configuration: ChannelConfiguration, pool: RTMPWriterPool, hub: FanOut, encoder: EncoderSession,
        clock: any MonotonicClock, logger: Logger
    ) throws -> OutputSet {
        let outputs = OutputSet(
            hub: hub, description: encoder.description, keyframes: encoder, clock: clock, logger: logger)
        for (output, name) in zip(configuration.outputs, configuration.outputNames) {
            do throws(OutputSetError) {
                try outputs.add(define(output, name: name, pool: pool, logger: logger))
            } catch {
                throw RelayFailure(.usage, "\(error)")
            }
        }
        return outputs
    }

    /// The output under this name, at the start or later.
    static func define(
        _ output: OutputSpecification, name: String, pool: RTMPWriterPool, logger: Logger
    ) -> OutputDefinition {
        if output.address.isUnverified || output.backup?.isUnverified == true {
            logger.warning("\(name): tls=insecure: nobody knows who receives this stream")
        }
        return output.definition(name: name, pool: pool)
    }

    /// Makes the directory usable. A file system that does not answer is given up on: it must not keep the program from
    /// going on air, nor hold up a service manager.
    static func prepare(_ recording: ChannelConfiguration.Recording) throws -> RecordDirectory {
        let (path, template) = (recording.directory, recording.template)
        let answered = DispatchSemaphore(value: 0)
        let box = AnswerBox()
        DispatchQueue(label: "relay.prepare").async {
            // Not within the lock: it may take for ever, and whoever waits looks at the box.
            let result = Result { () throws(FileFailure) in try RecordDirectory.prepare(path, template: template) }
            box.value.withLock { $0 = result }
            answered.signal()
        }
        _ = answered.wait(timeout: .now() + .seconds(10))
        switch box.value.withLock({ $0 }) {
        case .success(let directory): return directory
        case .failure(let failure):
            throw RelayFailure(
                .cannotRecord, "Recording is not possible: \(failure). Name a directory that this user may write to.")
        case nil:
            throw RelayFailure(
                .cannotRecord, "Recording is not possible: the file system of \(path) does not answer. Check the disk.")
        }
    }

    /// What is told of files and gaps: the catalogue first, as the uploader asks it.
    static func observers(_ catalogue: Catalogue?, _ uploader: Uploader?) -> [any RecordingObserver] {
        let all: [(any RecordingObserver)?] = [catalogue, uploader]
        return all.compactMap { $0 }
    }

    /// Who still needs finished files.
    static func vetoes(_ catalogue: Catalogue?, _ uploader: Uploader?) -> [any RetentionVeto] {
        let all: [(any RetentionVeto)?] = [catalogue, uploader]
        return all.compactMap { $0 }
    }

    /// The uploader that the configuration asks for. A remote or a program that is not there is refused.
    static func makeUploader(
        _ configuration: ChannelConfiguration, _ directory: RecordDirectory?, _ catalogue: Catalogue?, _ logger: Logger
    ) throws -> Uploader? {
        guard let target = configuration.recording?.upload, let directory, let catalogue else { return nil }
        do throws(UploadRefusal) {
            return try Uploader(
                directory: directory, channel: configuration.name, catalogue: catalogue, target: target, logger: logger)
        } catch {
            throw RelayFailure(.usage, "\(error)")
        }
    }

    /// Completes what a crash left open. Reads and writes files: not for the program's thread.
    static func recover(
        _ directory: RecordDirectory, channel: String, observers: [any RecordingObserver], _ logger: Logger
    ) {
        do {
            for entry in try SegmentRecovery.run(in: directory, channel: channel) {
                report(entry, logger)
                switch entry.outcome {
                case .completed(let name, _, _), .renamed(let name):
                    for observer in observers { observer.segmentRecovered(fileName: name) }
                case .setAside, .inUse, .failed: break
                }
            }
        } catch {
            logger.warning("could not look for files that a crash left open: \(error)")
        }
    }

    private static func report(_ entry: SegmentRecovery.Entry, _ logger: Logger) {
        switch entry.outcome {
        case .completed(let name, let frames, let dropped):
            logger.notice(
                "completed \(name), left open by a crash: \(frames) frames, \(dropped) damaged bytes left out")
        case .renamed(let name): logger.notice("completed \(name), left open by a crash")
        case .setAside(let name, let reason): logger.warning("set aside \(name), which cannot be played: \(reason)")
        case .inUse: logger.debug("\(entry.fileName) is being written")
        case .failed(let failure): logger.warning("could not complete \(entry.fileName): \(failure)")
        }
    }

    /// `isAhead`: the program runs so far ahead of the clock that packets leave the encoder in time.
    static func makeRecorder(
        _ configuration: ChannelConfiguration, directory: RecordDirectory?, observers: [any RecordingObserver],
        vetoes: [any RetentionVeto], encoder: EncoderSession, isAhead: Bool, clock: any MonotonicClock, logger: Logger
    ) throws -> (Recorder?, StorageGuard?, Retention?) {
        guard let recording = configuration.recording, let directory else { return (nil, nil, nil) }
        let budget = StorageBudget(
            videoBitrate: plannedBitrate(encoder.description), audioBitrate: encoder.description.audio.bitrate,
            duration: recording.expected, reserve: recording.reserve,
            capacity: (try? SystemFreeSpace().space(at: directory.path))?.capacity)
        let retention = try makeRetention(
            configuration, recording, directory: directory, observers: observers, vetoes: vetoes, budget: budget,
            clock: clock, logger: logger)
        var settings = recorderConfiguration(configuration, recording, directory, encoder, isAhead: isAhead)
        settings.observers = observers + (retention.map { [$0] } ?? [])
        let recorder = Recorder(
            configuration: settings, description: encoder.description, keyframes: encoder, clock: clock, logger: logger)
        let storage = StorageGuard(
            directory: directory, budget: budget, warning: recording.warning, control: recorder,
            writtenBytes: { recorder.status.totalBytes },
            retained: { retention?.balance ?? RetentionBalance() },
            makeRoom: { retention?.makeRoom(for: $0) ?? 0 }, clock: clock, logger: logger)
        let admission = storage.admit()
        if !admission.isAdmitted, configuration.outputs.isEmpty {
            throw RelayFailure(.storageRefused, admission.sentence)
        }
        return (recorder, storage, retention)
    }

    private static func recorderConfiguration(
        _ configuration: ChannelConfiguration, _ recording: ChannelConfiguration.Recording,
        _ directory: RecordDirectory, _ encoder: EncoderSession, isAhead: Bool
    ) -> RecorderConfiguration {
        var settings = RecorderConfiguration(
            directory: directory, channel: configuration.name, length: recording.length, version: RelayVersion.text)
        settings.format = recording.format
        settings.sync = recording.sync
        settings.isClockAligned = recording.isClockAligned
        settings.localOffset = recording.localOffset
        settings.gop = configuration.encoder.gop
        if !isAhead {
            let rate = encoder.description.video.format.frameRate
            settings.encoderDelay = .nanoseconds(
                rate.timeBase.rescale(Int64(encoder.delayInFrames), to: .nanoseconds))
        }
        return settings
    }

    /// What deletes old files, if anything does.
    private static func makeRetention(
        _ configuration: ChannelConfiguration, _ recording: ChannelConfiguration.Recording,
        directory: RecordDirectory, observers: [any RecordingObserver], vetoes: [any RetentionVeto],
        budget: StorageBudget, clock: any MonotonicClock, logger: Logger
    ) throws -> Retention? {
        guard let rules = recording.retention else { return nil }
        if let text = rules.contradiction(length: recording.length, budget: budget) {
            throw RelayFailure(.usage, text)
        }
        return Retention(
            directory: directory, channel: configuration.name, rules: rules, leastFree: budget.retentionGoalBytes,
            vetoes: vetoes, observers: observers, clock: clock, logger: logger)
    }

    /// What the frame will take. A recording of constant quality has no bitrate; it is computed at 0.15 bits a pixel,
    /// which is more than x264 needs for most frames at the usual quality of 23.
    static func plannedBitrate(_ description: StreamDescription) -> Int {
        if description.video.bitrate > 0 { return description.video.bitrate }
        let format = description.video.format
        return Int(Double(format.width * format.height) * format.frameRate.value * 0.15)
    }
}

/// What the thread that prepares a directory leaves behind, for a caller that may have stopped waiting.
private final class AnswerBox: Sendable {
    let value = Mutex<Result<RecordDirectory, FileFailure>?>(nil)
}
