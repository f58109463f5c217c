// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Encoder
internal import FanOut
internal import Ingest
internal import Logging
internal import Media
internal import Monitor
internal import Program
internal import Status
internal import Synchronization

/// A program that passes the packets of its inputs on unchanged. If the program has a single input, one of its tracks
/// can be re-encoded instead (``TrackMix``).
///
/// A single input is opened before the program begins, and the program ends with the input. With backups or a slate, a
/// ``SourceSwitch`` decides which inputs are open and which one is on air. A `PacketSplicer` passes an input's packets
/// on, beginning with the input's next keyframe.
///
/// Packets are published on the threads of the sources and of the slate, one thread at a time. The reader of a file or
/// playlist is paused until the input is on air, and is then paced by the times that its packets have in the program.
/// No other input is delayed.
final class Passthrough: ChannelProgram {
    struct State {
        /// The inputs, if there are backups or a slate; otherwise empty.
        var sources: [StandbySource] = []
        var failure: String?
        var isOver = false
        /// Whether the end was requested.
        var wasStopped = false
    }

    let configuration: ChannelConfiguration
    let names: [String]
    /// The only input, which is open; nil if there are backups or a slate.
    private let only: (source: any PacketSource, description: PacketSourceDescription, turn: PassthroughTurn)?
    /// Chooses between the inputs and the slate; nil if there is one input and no slate.
    let choice: SourceSwitch?
    /// The slate, which is encoded while no input delivers anything; nil if there is no slate.
    let slate: EncodedSlate?
    /// `passed` publishes packets unchanged. `sink` publishes them, too, and in addition re-encodes one track if that
    /// is configured.
    private let (passed, sink): (PassthroughSink, any PacketSink)
    private let mix: TrackMix?
    /// Decodes the audio, if loudness or silence is to be measured.
    private let monitor: PacketMonitor?
    let recordings: ChannelRecordings
    let clock: any MonotonicClock
    let logger: Logger
    let state: Mutex<State>
    let airState: Mutex<PassthroughAir>
    /// Locked while packets are published. This lock is separate from ``airState``, because ``airState`` must not stay
    /// locked while a sink blocks the thread of a file.
    private let publishing = Mutex(())
    private let stream = Mutex(StreamDescription())
    private let ended = DispatchSemaphore(value: 0)
    /// The heartbeats of the inputs' threads. A heartbeat is suspended between packets, because a source can be silent.
    let inputHeartbeats: [Heartbeat]

    /// Opens the input. Nothing is on air yet. Blocks until the tracks are known, without a time limit if the input
    /// listens. With backups or a slate, the tracks of one input must be known within 10 s, or those of the slate
    /// within another 10 s. Packets go to `hub`. An unpaced file waits until the recorders in `recordings` have room.
    /// Switches between inputs are recorded in the catalogues of `recordings`. Throws ``ChannelFailure``.
    init(
        _ configuration: ChannelConfiguration, into hub: PacketStream, recordings: ChannelRecordings,
        listening: any InputOpener, clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) {
        let source = configuration.sources[0]
        (self.configuration, self.recordings, self.clock, self.logger) = (configuration, recordings, clock, logger)
        names = source.inputNames
        let hasChoice = configuration.hasChoice
        inputHeartbeats = names.map { Heartbeat(hasChoice ? "passthrough of \($0)" : "passthrough", clock: clock) }
        monitor = try Self.makeMonitor(configuration, logger)
        state = Mutex(State())
        var air = PassthroughAir()
        if hasChoice {
            (only, mix) = (nil, nil)
            choice = SourceSwitch(
                names, options: configuration.choice(of: source), channel: configuration.name, recordings: recordings,
                clock: clock, logger: logger)
            slate = try configuration.slate.map { (slate) throws(ChannelFailure) in
                try EncodedSlate(slate, channel: configuration.name, clock: clock, logger: logger)
            }
        } else {
            (choice, slate) = (nil, nil)
            let opened = try Self.open(configuration, listening, clock, logger)
            let turn = air.open(0, opened.description, audioOffset: source.input.tracks.audioOffset)
            only = (opened.source, opened.description, turn)
            air.splicer.show(0)
            do throws(ChannelFailure) {
                mix = try TrackMix(
                    configuration, of: air.splicer.stream(of: 0) ?? StreamDescription(),
                    canWait: opened.description.canWait, publisher: inputHeartbeats[0], into: hub)
            } catch {
                opened.source.stop()
                throw error
            }
        }
        let passed = mix?.passed ?? PassthroughSink(hub)
        self.passed = passed
        sink = mix?.sink ?? passed
        airState = Mutex(air)
        try begin(listening)
    }

    /// Returns the kind of track that each input must have. If the video is encoded here, this is video. Otherwise the
    /// result is nil, because a program that is passed through can consist of audio alone.
    static func neededTrack(of configuration: ChannelConfiguration) -> TrackKind? {
        configuration.copying == .audio ? .video : nil
    }

    /// Opens the only input. Blocks until its tracks are known.
    private static func open(
        _ configuration: ChannelConfiguration, _ listening: any InputOpener, _ clock: any MonotonicClock,
        _ logger: Logger
    ) throws(ChannelFailure) -> (source: any PacketSource, description: PacketSourceDescription) {
        let location = configuration.sources[0].input
        let source = try listening.packets(
            at: location, loops: configuration.loops, needs: neededTrack(of: configuration), opening: nil, clock: clock,
            logger: logger)
        listening.whenGivenUp { source.stop() }
        let description: PacketSourceDescription
        do throws(IngestError) {
            description = try source.open()
        } catch {
            throw ChannelFailure(.inputUnreadable, .openInput("\(location)"), saidBy: error)
        }
        if !configuration.isPaced, !description.canWait {
            source.stop()
            throw ChannelFailure(
                .configuration, .openInput("\(location)"),
                saying: "--unpaced is for files: \(location) comes at its own pace. Leave it out.")
        }
        if configuration.copying != .audio { noteRotation(of: description.stream, "\(location)", logger) }
        return (source, description)
    }

    /// Logs that the video of `input` is rotated, if it is and its frames are copied.
    static func noteRotation(of stream: StreamDescription, _ input: String, _ logger: Logger) {
        guard stream.video?.displayMatrix != nil else { return }
        logger.notice(
            "the video is rotated: copied frames stay as they are coded, and recordings in MP4 say so to players",
            metadata: ["input": "\(input)"])
    }

    /// Makes the monitor that measures the audio of a program that is passed through; nil if nothing is to be measured.
    private static func makeMonitor(
        _ configuration: ChannelConfiguration, _ logger: Logger
    ) throws(ChannelFailure) -> PacketMonitor? {
        let settings = configuration.monitor
        guard settings.measuresLoudness || settings.silence != nil else { return nil }
        do {
            return try PacketMonitor(settings, channel: configuration.name, logger: logger)
        } catch {
            throw ChannelFailure(.internalError, .measureLoudness, because: error)
        }
    }

    /// Begins to choose between the inputs, if there are backups or a slate, and stores the program's tracks.
    private func begin(_ listening: any InputOpener) throws(ChannelFailure) {
        guard let choice else {
            let known = airState.withLock { $0.splicer.stream(of: 0) }
            return stream.withLock { $0 = known ?? $0 }
        }
        let sources = configuration.sources[0].inputs.enumerated().map { makeStandby($0, $1, listening) }
        state.withLock { $0.sources = sources }
        listening.whenGivenUp { [weak self] in self?.stop() }
        choice.begin(self)
        do throws(ChannelFailure) {
            let known = try awaitDescription(choice, of: sources)
            stream.withLock { $0 = known }
        } catch {
            stop()
            throw error
        }
    }

    var description: StreamDescription {
        let stream = stream.withLock { $0 }
        return mix?.description(of: stream) ?? stream
    }
    var keyframes: any KeyframeRequester { mix?.keyframes ?? NoKeyframes() }
    var delay: Duration? { only?.description.canWait == true ? nil : mix?.delay }
    /// Without a video encoder, only the sender decides when to make keyframes. Broadcasters and cameras make one at
    /// least every 10 s.
    var gop: Duration { mix?.keyframes == nil ? .seconds(10) : configuration.encoder.gop }

    func run() -> ChannelEnd {
        airState.withLock { $0.hasBegun = true }
        if let only { only.source.start(into: PassthroughInput(self, only.turn, only.description)) }
        ended.wait()
        close()
        // Another thread might still be publishing a packet. The sink is finished only after that packet was published.
        publishing.withLock { _ in sink.finish() }
        let (failure, wasStopped) = state.withLock { ($0.failure, $0.wasStopped) }
        if let failure = mix?.sink.status.failure {
            logger.critical("the encoder failed: \(failure)")
            return .failed(.internalError)
        }
        if let failure {
            logger.error("the program ended because its source failed: \(failure)")
            return .failed(.inputUnreadable)
        }
        guard airState.withLock({ $0.status.packets }) == 0, !wasStopped else { return .done }
        logger.error("The input ended without a single keyframe.")
        return .failed(.inputUnreadable)
    }

    var heartbeats: [Heartbeat] {
        inputHeartbeats + [mix?.sink.heartbeat, slate?.heartbeat].compactMap(\.self)
    }

    func stop() {
        state.withLock { $0.wasStopped = true }
        end(failure: nil)
        close()
    }

    /// Closes all inputs and the slate.
    private func close() {
        only?.source.stop()
        let (sources, slate) = (state.withLock { $0.sources }, slate)
        choice?.stop {
            for source in sources { source.stop() }
            slate?.stop()
        }
    }

    /// Ends the program, unless it has ended already. `failure` is the error of the program's only input, if that input
    /// failed.
    func end(failure: String?) {
        let isFirst = state.withLock { state in
            guard !state.isOver else { return false }
            (state.isOver, state.failure) = (true, failure)
            return true
        }
        if isFirst { ended.signal() }
    }

    var isOver: Bool { state.withLock { $0.isOver } }

    var status: ChannelStatus {
        var reports = only.map { [$0.source.status] } ?? state.withLock { $0.sources }.map(\.report.status)
        let (passed, rate) = airState.withLock { air in
            for index in reports.indices { reports[index].silentTracks = air.splicer.silentTracks(of: index) }
            var passed = air.status
            passed.undecodableFrames = air.splicer.timelineCounts.undecodableFrames
            return (passed, air.rate.rate)
        }
        var status = ChannelStatus(
            sources: reports, selection: choice?.status, feed: FeedStatus(), program: ProgramStatus(),
            encoder: EncoderStatus(),
            frameRate: stream.withLock { $0.video?.nominalRate } ?? rate ?? FrameRate(25), outputs: [])
        status.passthrough = passed
        status.passthrough?.movedPackets = self.passed.counts.moved
        status.passthrough?.transcodingErrors = mix?.sink.status.errors ?? 0
        status.passthrough?.skippedPackets = mix?.sink.status.skipped ?? 0
        status.monitor = monitor?.status
        return status
    }
}

// MARK: Packets

extension Passthrough {
    /// Converts the times of an input's packet to that input's timeline. Returns, in order, the packets that can now be
    /// decoded. Returns no packets if the turn has ended.
    func timed(_ packet: EncodedPacket, of turn: PassthroughTurn, at arrival: MonotonicInstant) -> [EncodedPacket] {
        let (packets, events) = airState.withLock { air in
            (air.time(packet, of: turn, at: arrival), air.splicer.takeEvents(of: turn.index))
        }
        if turn.index < names.count { for event in events { event.log(of: names[turn.index], by: logger) } }
        return packets
    }

    /// Passes an input's new packets to the splicer, and publishes the packets that go on air as a result. Publishes
    /// nothing if the turn has ended.
    func publish(_ packets: [EncodedPacket], of turn: PassthroughTurn, at arrival: MonotonicInstant) {
        let left = publishing.withLock { _ in
            guard !isOver else { return [Int]() }
            let (due, ends, left) = airState.withLock { air in
                let (due, ends) = air.take(
                    packets, of: turn, at: arrival, until: configuration.duration, slate: slateIndex)
                return (due, ends, air.hasBegun ? air.takeLeft() : [])
            }
            for packet in due {
                // Drops PCM audio if there is no mix: the audio was unknown when the program began, so no encoder was
                // made for it, and no output carries PCM.
                if packet.description.codec == .pcm, mix == nil { continue }
                sink.publish(packet)
                monitor?.take(packet)
                if mix?.sink.status.failure != nil { end(failure: nil) }
            }
            if ends { end(failure: nil) }
            return left
        }
        for input in left { leave(input) }
    }
}
