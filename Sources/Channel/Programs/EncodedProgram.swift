// SPDX-License-Identifier: Apache-2.0

internal import Encoder
package import FanOut
package import Logging
package import Media
internal import Monitor
internal import Program
internal import Status
internal import Studio

/// A program that is decoded, composed and encoded here, together with its inputs.
package final class EncodedProgram: ChannelProgram {
    private let inputs: ProgramInputs
    /// Interleaves the encoder's packets on their way to the hub.
    private let interleaver: InterleavingSink
    private let encoder: EncoderSession
    private let monitor: MonitoredSink
    private let encodings: Renditions
    private let program: Program
    private let isAhead: Bool
    private let settings: EncoderSettings
    /// The names of the sources whose packets can be kept for their recordings.
    private let copied: Set<String>
    private let logger: Logger
    let gop: Duration

    /// Opens inputs and encoders. Nothing is on air yet. Blocks until the inputs answer. The program's packets go to
    /// `hub`, and the packets of each rendition to the stream of the same name in `streams`. An unpaced program waits
    /// before each frame until the recorders in `recordings` have room. Throws ``ChannelFailure``.
    package init(
        _ configuration: ChannelConfiguration, into hub: PacketStream, renditions streams: [String: PacketStream] = [:],
        recordings: ChannelRecordings, listening: ChannelListening, clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) {
        self.logger = logger
        (settings, gop) = (configuration.encoder, configuration.encoder.gop)
        copied = Set(configuration.sources.filter(\.canKeepPackets).map(\.name))
        let inputs = try ProgramInputs(
            configuration, listening: listening, recordings: recordings, clock: clock, logger: logger)
        self.inputs = inputs
        isAhead = configuration.isPaced && inputs.canReadAhead
        interleaver = InterleavingSink(hub)
        let encoder = try Self.openEncoder(configuration, format: inputs.format, sink: interleaver, logger)
        self.encoder = encoder
        // Audio is ahead of the video by the encoder's delay. So the interleaver must wait for video longer than this
        // delay.
        let delay = inputs.format.frameRate.timeBase.duration(Int64(encoder.delayInFrames))
        interleaver.wait(upTo: max(.seconds(10), delay * 2))
        let heartbeat = Heartbeat("program", clock: clock)
        encodings = try Self.openRenditions(
            configuration, inputs, into: streams,
            before: configuration.isPaced
                ? encoder : RecorderPacedSink(encoder: encoder, recordings: recordings, heartbeat: heartbeat),
            clock, logger)
        monitor = try Self.openMonitor(
            configuration, inputs, sink: encodings.all.isEmpty ? encodings.next : encodings, logger)
        let hashes = try Self.openHashes(configuration, before: monitor, logger)
        program = Program(
            frameRate: inputs.format.frameRate, audio: .program,
            pacing: configuration.isPaced
                ? .realTime(lead: inputs.canReadAhead ? Int64(encoder.delayInFrames) : 0) : .unpaced,
            frameLimit: configuration.duration.map { max(1, inputs.format.frameRate.frames(atLeast: $0)) },
            bus: inputs.bus, format: inputs.director == nil ? nil : inputs.format, sink: hashes ?? monitor,
            clock: clock,
            heartbeat: heartbeat, logger: logger)
    }

    package var description: StreamDescription { encoder.description }
    var keyframes: any KeyframeRequester { encoder }

    var delay: Duration? {
        guard !isAhead, let rate = encoder.description.video?.nominalRate else { return nil }
        return rate.timeBase.duration(Int64(encoder.delayInFrames))
    }

    var renditions: [Rendition] { encodings.all }

    func delay(of rendition: Rendition) -> Duration? {
        rendition.delay(ahead: isAhead ? encoder.delayInFrames : 0)
    }

    package func run() -> ChannelEnd {
        encodings.start()
        inputs.start()
        defer {
            inputs.stop()
            encodings.end()
        }
        do {
            switch try program.run() {
            case .finished, .stopped:
                guard let failure = inputs.failure else { return .done }
                logger.error("the program ended because its source failed: \(failure)")
                return .failed(.inputUnreadable)
            case .empty:
                logger.error("\(inputs.lastVideoError ?? "The input ended without a single frame.")")
                return .failed(.inputUnreadable)
            }
        } catch {
            logger.critical("the encoder failed: \(error)")
            interleaver.finish()
            return .failed(.internalError)
        }
    }

    var heartbeats: [Heartbeat] { [program.heartbeat] }

    var director: Director? { inputs.director }

    var recordedSources: RecordedSources? {
        inputs.director.map { director in
            RecordedSources(
                bus: director.bus,
                sources: director.sources.map {
                    (name: $0.name, bus: $0.bus, hasVideo: $0.hasVideo, canBeCopied: copied.contains($0.name))
                }, format: inputs.format,
                encoder: settings)
        }
    }

    func stop() {
        encodings.hurry()
        program.stop()
        inputs.stop()
    }

    var status: ChannelStatus {
        let feeds = inputs.feedStatuses
        var status = ChannelStatus(
            sources: inputs.statuses, selection: inputs.selection, feed: feeds.video, audioFeed: feeds.audio,
            program: program.status, encoder: encoder.status, frameRate: inputs.format.frameRate, outputs: [])
        (status.monitor, status.parts) = (monitor.status, inputs.parts)
        status.runDown = inputs.director?.runDownStatus(withSegments: false)
        status.renditions = encodings.all.isEmpty ? nil : encodings.all.map(\.status)
        return status
    }

    private static func openMonitor(
        _ configuration: ChannelConfiguration, _ inputs: ProgramInputs, sink: any ProgramSink, _ logger: Logger
    ) throws(ChannelFailure) -> MonitoredSink {
        do {
            return try MonitoredSink(
                sink, settings: configuration.monitor, video: inputs.format,
                audio: inputs.feedStatuses.audio == nil ? nil : .program, logger: logger)
        } catch {
            throw ChannelFailure(.internalError, .measureLoudness, because: error)
        }
    }

    private static func openRenditions(
        _ configuration: ChannelConfiguration, _ inputs: ProgramInputs, into streams: [String: PacketStream],
        before next: any ProgramSink, _ clock: any MonotonicClock, _ logger: Logger
    ) throws(ChannelFailure) -> Renditions {
        let all = try configuration.renditions.map { (specification) throws(ChannelFailure) in
            try Rendition(
                specification, of: inputs.format, beside: configuration.encoder,
                into: streams[specification.name] ?? PacketStream(), clock: clock, logger: logger)
        }
        return Renditions(all, of: inputs.format, before: next, clock: clock)
    }

    private static func openHashes(
        _ configuration: ChannelConfiguration, before next: any ProgramSink, _ logger: Logger
    ) throws(ChannelFailure) -> HashedSink? {
        guard let path = configuration.frameHashes else { return nil }
        return try HashedSink(next, to: path, logger: logger)
    }

    private static func openEncoder(
        _ configuration: ChannelConfiguration, format: VideoFormat, sink: any PacketSink, _ logger: Logger
    ) throws(ChannelFailure) -> EncoderSession {
        do {
            return try EncoderSession(
                settings: configuration.encoder, video: format, audio: .program, sink: sink, logger: logger)
        } catch {
            throw ChannelFailure(.internalError, .openEncoder(), because: error)
        }
    }
}
