// SPDX-License-Identifier: Apache-2.0

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

/// One path of media: sources, program, encoder, fan-out, outputs and recorder, built from a configuration and run to its
/// end.
///
/// ``run()`` occupies the thread that calls it; everything else may be called on any thread.
final class Channel: Sendable {
    /// How long a clean end may take from the moment it is asked for.
    private static let farewell = Duration.milliseconds(2600)
    /// How long a live source's media waits before it is shown, so that its jitter does not show.
    private static let liveLatency = Duration.milliseconds(200)

    private let configuration: ChannelConfiguration
    private let clock: any MonotonicClock
    private let logger: Logger
    private let sources: [any MediaSource]
    private let picture: SourceFeed
    private let sound: SourceFeed?
    private let hub: FanOut
    private let encoder: EncoderSession
    private let program: Program
    private let outputs: [OutputSupervisor]
    private let recorder: Recorder?
    private let storage: StorageGuard?
    private let endAskedAt = Mutex<Int64?>(nil)

    /// Opens inputs and encoder, prepares the record directory and asks the storage guard; nothing is live yet.
    /// Blocks until the inputs answer. Throws ``RelayFailure``.
    init(_ configuration: ChannelConfiguration, logger: Logger, clock: any MonotonicClock = SystemClock()) throws {
        self.configuration = configuration
        self.clock = clock
        self.logger = logger
        let directory = try configuration.recording.map { try Self.prepare($0, channel: configuration.name, logger) }
        let inputs = try Self.open(configuration, logger)
        let format = inputs.format
        let hub = FanOut()
        self.hub = hub
        sources = inputs.sources
        let isLive = inputs.picture.description.isLive
        picture = SourceFeed(
            pacing: Self.pacing(isLive), frameRate: format.frameRate, audio: .program, clock: clock)
        if let separate = inputs.separateSound {
            sound = SourceFeed(
                pacing: Self.pacing(separate.description.isLive), hasPicture: false, frameRate: format.frameRate,
                audio: .program, clock: clock)
        } else {
            sound = inputs.picture.description.hasAudio ? picture : nil
        }
        let encoder = try Self.openEncoder(configuration, format: format, sink: hub, clock: clock)
        self.encoder = encoder
        program = Program(
            frameRate: format.frameRate, audio: .program,
            pacing: configuration.isPaced ? .realTime(lead: isLive ? 0 : Int64(encoder.delayInFrames)) : .unpaced,
            frameLimit: configuration.duration.map { max(1, format.frameRate.frames(atLeast: $0)) }, picture: picture,
            sound: sound, sink: encoder, clock: clock, logger: logger)
        outputs = Self.makeOutputs(configuration, encoder: encoder, clock: clock, logger: logger)
        (recorder, storage) = try Self.makeRecorder(
            configuration, directory: directory, encoder: encoder, clock: clock, logger: logger)
    }

    /// Puts the program on air and returns how it ended, when all outputs have ended.
    func run() -> ExitStatus {
        for output in outputs {
            hub.add(output)
            output.start()
        }
        if let recorder { hub.add(recorder) }
        storage?.start()
        startSources()
        let status = runProgram()
        for source in sources { source.stop() }
        storage?.stop()
        endConsumers()
        return status == .done ? delivered : status
    }

    /// Asks for a clean end. Returns at once.
    func end() {
        endAskedAt.withLock { $0 = $0 ?? clock.now }
        program.stop()
        for source in sources { source.stop() }
    }

    /// A snapshot of everything.
    var status: ChannelStatus {
        ChannelStatus(
            sources: sources.map(\.status), feed: picture.status, program: program.status, encoder: encoder.status,
            frameRate: encoder.description.video.format.frameRate, outputs: outputs.map(\.status),
            recorder: recorder?.status, storage: storage?.status)
    }

    private func startSources() {
        sources[0].start(
            into: picture, video: encoder.description.video.format, audio: sound === picture ? .program : nil)
        if sources.count > 1, let sound { sources[1].start(into: sound, video: nil, audio: .program) }
    }

    private func runProgram() -> ExitStatus {
        do {
            switch try program.run() {
            case .finished, .stopped:
                if let reason = sources.compactMap({ $0.status.state == .failed ? $0.status.lastError : nil }).first {
                    logger.error("the program ended because its source failed: \(reason)")
                }
                return .done
            case .empty:
                logger.error("\(sources[0].status.lastError ?? "The input ended without a single picture.")")
                return .inputUnreadable
            }
        } catch {
            logger.critical("the encoder failed: \(error)")
            hub.finish()
            return .internalError
        }
    }

    /// Ends every consumer at the same time, so that one that does not end costs the others nothing.
    private func endConsumers() {
        let deadline = (endAskedAt.withLock { $0 } ?? clock.now) + Self.farewell.inNanoseconds
        let group = DispatchGroup()
        let consumers: [any PacketConsumer] = outputs + (recorder.map { [$0] } ?? [])
        for consumer in consumers {
            group.enter()
            consumer.finish(deadline: deadline) { group.leave() }
        }
        let grace = Int(max(0, deadline - clock.now)) + 200_000_000
        if group.wait(timeout: .now() + .nanoseconds(grace)) == .timedOut {
            logger.warning("not everything ended in time")
        }
    }

    /// Whether anything was delivered at all.
    private var delivered: ExitStatus {
        if outputs.contains(where: { $0.status.wasLive }) { return .done }
        if let recorder, recorder.status.framesWritten > 0 { return .done }
        logger.error("no output ever came on air, and nothing was recorded")
        return .nothingDelivered
    }

    private static func pacing(_ isLive: Bool) -> SourceFeed.Pacing {
        isLive ? .live(latency: liveLatency) : .waits
    }
}
