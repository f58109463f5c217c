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

/// One path of media: sources, program, encoder, fan-out, outputs and recorder, built from a configuration and run to its
/// end.
///
/// ``run()`` occupies the thread that calls it; everything else may be called on any thread.
final class Channel: Sendable {
    /// How long a clean end may take from the moment it is asked for.
    private static let teardown = Duration.milliseconds(2600)
    /// How long outputs may take to send the rest when nobody is in a hurry: more than a receiver's latency.
    private static let unhurriedFarewell = Duration.seconds(12)
    /// How long the recorder may take to finish its files when nobody is in a hurry.
    private static let recordingLimit = Duration.seconds(24 * 3600)
    /// How long a live source's media waits before it is shown, so that its jitter does not show.
    private static let liveLatency = Duration.milliseconds(200)

    private let configuration: ChannelConfiguration
    private let clock: any MonotonicClock
    private let logger: Logger
    private let sources: [any MediaSource]
    private let videoFeed: SourceFeed
    private let audioFeed: SourceFeed?
    private let hub: FanOut
    private let encoder: EncoderSession
    private let program: Program
    /// The live outputs, which may be changed while the program runs.
    let outputs: OutputSet
    private let pool = RTMPWriterPool()
    private let recorder: Recorder?
    private let storage: StorageGuard?
    private let retention: Retention?
    private let directory: RecordDirectory?
    private let catalogue: Catalogue?
    private let uploader: Uploader?
    private let endAskedAt = Mutex<Int64?>(nil)

    /// Opens inputs and encoder, prepares the record directory and asks the storage guard; nothing is live yet.
    /// Blocks until the inputs answer. Throws ``RelayFailure``.
    init(_ configuration: ChannelConfiguration, logger: Logger, clock: any MonotonicClock = SystemClock()) throws {
        self.configuration = configuration
        self.clock = clock
        self.logger = logger
        let directory = try configuration.recording.map { try Self.prepare($0) }
        self.directory = directory
        let catalogue = directory.map { Catalogue(directory: $0, channel: configuration.name, logger: logger) }
        self.catalogue = catalogue
        let uploader = try Self.makeUploader(configuration, directory, catalogue, logger)
        self.uploader = uploader
        let inputs = try Self.open(configuration, logger)
        let format = inputs.format
        let hub = FanOut()
        self.hub = hub
        sources = inputs.sources
        let isLive = inputs.video.description.isLive
        // Live audio cannot be read ahead, whatever the frame comes from.
        let canReadAhead = !isLive && inputs.separateAudio?.description.isLive != true
        videoFeed = SourceFeed(
            pacing: Self.pacing(isLive), frameRate: format.frameRate, audio: .program, clock: clock)
        if let separate = inputs.separateAudio {
            audioFeed = SourceFeed(
                pacing: Self.pacing(separate.description.isLive), hasVideo: false, frameRate: format.frameRate,
                audio: .program, clock: clock)
        } else {
            audioFeed = inputs.video.description.hasAudio ? videoFeed : nil
        }
        let encoder = try Self.openEncoder(configuration, format: format, sink: hub, clock: clock)
        self.encoder = encoder
        outputs = try Self.makeOutputs(
            configuration, pool: pool, hub: hub, encoder: encoder, clock: clock, logger: logger)
        (recorder, storage, retention) = try Self.makeRecorder(
            configuration, directory: directory, observers: Self.observers(catalogue, uploader),
            vetoes: Self.vetoes(catalogue, uploader), encoder: encoder, isAhead: configuration.isPaced && canReadAhead,
            clock: clock, logger: logger)
        program = Program(
            frameRate: format.frameRate, audio: .program,
            pacing: configuration.isPaced ? .realTime(lead: canReadAhead ? Int64(encoder.delayInFrames) : 0) : .unpaced,
            frameLimit: configuration.duration.map { max(1, format.frameRate.frames(atLeast: $0)) },
            videoFeed: videoFeed,
            audioFeed: audioFeed,
            sink: configuration.isPaced ? encoder : RecorderPacedSink(encoder: encoder, recorder: recorder),
            clock: clock, logger: logger)
    }

    /// Puts the program on air and returns how it ended, when all outputs have ended.
    func run() -> ExitStatus {
        outputs.start()
        if let recorder { hub.add(recorder) }
        storage?.start()
        catalogue?.start()
        retention?.start()
        uploader?.start()
        let ending = DispatchGroup()
        recoverRecordings(ending)
        startSources()
        let status = runProgram()
        for source in sources { source.stop() }
        storage?.stop()
        retention?.stop()
        endConsumers(ending, isProgramOver: status == .done)
        return status == .done ? delivered : status
    }

    /// Asks for a clean end. Returns at once.
    func end() {
        endAskedAt.withLock { $0 = $0 ?? clock.now }
        program.stop()
        for source in sources { source.stop() }
        uploader?.cancel()
    }

    /// Begins a new file of the recording with the next keyframe. Returns at once.
    func cutRecording() { recorder?.cutNow() }

    /// Adds a live output, and returns its name. Throws ``OutputSetError`` where there is one of this name.
    @discardableResult
    func add(_ output: OutputSpecification) throws -> String {
        let name = output.name ?? output.address.freeName(besides: outputs.statuses.map(\.name))
        try outputs.add(Self.define(output, name: name, pool: pool, logger: logger))
        return name
    }

    /// A snapshot of everything.
    var status: ChannelStatus {
        ChannelStatus(
            sources: sources.map(\.status), feed: videoFeed.status, audioFeed: audioFeed?.status,
            program: program.status,
            encoder: encoder.status,
            frameRate: encoder.description.video.format.frameRate, outputs: outputs.statuses,
            recorder: recorder?.status, storage: storage?.status, retention: retention?.status,
            upload: uploader?.status)
    }

    private func startSources() {
        sources[0].start(
            into: videoFeed, video: encoder.description.video.format, audio: audioFeed === videoFeed ? .program : nil)
        if sources.count > 1, let audioFeed { sources[1].start(into: audioFeed, video: nil, audio: .program) }
    }

    private func runProgram() -> ExitStatus {
        do {
            switch try program.run() {
            case .finished, .stopped:
                guard let failed = sources.map(\.status).first(where: { $0.state == .failed }) else { return .done }
                logger.error("the program ended because its source failed: \(failed.lastError ?? "")")
                return .inputUnreadable
            case .empty:
                logger.error("\(sources[0].status.lastError ?? "The input ended without a single frame.")")
                return .inputUnreadable
            }
        } catch {
            logger.critical("the encoder failed: \(error)")
            hub.finish()
            return .internalError
        }
    }

    /// Completes what a crash left open, beside the program: old files must not keep it from going on air.
    private func recoverRecordings(_ ending: DispatchGroup) {
        guard let directory else { return }
        let observers = Self.observers(catalogue, uploader)
        DispatchQueue(label: "relay.recovery", qos: .utility).async(group: ending) { [configuration, logger] in
            Self.recover(directory, channel: configuration.name, observers: observers, logger)
        }
    }

    /// Ends every consumer at the same time, so that one that does not end costs the others nothing. After a signal
    /// nobody is waited for beyond the teardown; at the program's own end the recorder may finish its files.
    private func endConsumers(_ ending: DispatchGroup, isProgramOver: Bool) {
        let now = clock.now
        // A service that is stopped or restarted, or whose source failed, may go on with the same program.
        let reason: EndReason =
            isProgramOver && endAskedAt.withLock { $0 } == nil ? .programOver : .interrupted
        let deadline =
            endAskedAt.withLock { $0 }.map { $0 + Self.teardown.inNanoseconds }
            ?? now + Self.unhurriedFarewell.inNanoseconds
        outputs.finish(deadline: deadline, reason: reason, in: ending)
        if let recorder {
            ending.enter()
            recorder.finish(deadline: now + Self.recordingLimit.inNanoseconds) { [catalogue, uploader] in
                // What the recorder's last words were is noted before the end.
                let last: @Sendable () -> Void = {
                    guard let catalogue else { return ending.leave() }
                    catalogue.finish { ending.leave() }
                }
                guard let uploader else { return last() }
                uploader.finish(last)
            }
        }
        while ending.wait(timeout: .now() + .milliseconds(100)) == .timedOut {
            guard let asked = endAskedAt.withLock({ $0 }) else { continue }
            if clock.now - asked > Self.teardown.inNanoseconds + 200_000_000 {
                logger.warning("not everything ended in time; the next start completes a file that is still open")
                return
            }
        }
    }

    /// Whether anything was delivered at all.
    private var delivered: ExitStatus {
        if outputs.statuses.contains(where: \.wasLive) { return .done }
        if let recorder, recorder.status.framesWritten > 0 { return .done }
        logger.error("no output ever came on air, and nothing was recorded")
        return .nothingDelivered
    }

    private static func pacing(_ isLive: Bool) -> SourceFeed.Pacing {
        isLive ? .live(latency: liveLatency) : .waits
    }
}
