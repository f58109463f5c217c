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

/// An input whose packets go on air as they are, without a decoder and without an encoder.
///
/// The source's thread, or the event loop that it lives on, publishes. A source that can wait is paced by its own
/// timestamps; nothing else is held.
final class Passthrough: ChannelProgram {
    private struct State {
        var timeline: PacketTimeline
        var status = PassthroughStatus()
        var rate = MeasuredRate()
        var pace = FilePace()
        var first: Int64?
        var isOver = false
        var failure: String?
    }

    private let source: any PacketSource
    private let name: String
    private let input: PacketSourceDescription
    private let hub: PacketStream
    /// The sink for packets that are passed through, and the one that also encodes a track again if that was asked for.
    private let (passed, sink): (PassthroughSink, any PacketSink)
    private let mix: TrackMix?
    private let recordings: RecordingSlot
    /// Decodes the audio, if that was asked for.
    private let monitor: PacketMonitor?
    private let isPaced: Bool
    private let encodedGOP: Duration
    private let limit: Int64?
    private let clock: any MonotonicClock
    private let logger: Logger
    private let state: Mutex<State>
    private let ended = DispatchSemaphore(value: 0)
    /// The heartbeat of the source's thread, which rests between its packets: a source may be silent.
    private let heartbeat: Heartbeat

    /// Opens the input; nothing is on air yet. Blocks until its tracks are known, without limit for one that listens.
    /// Packets go to `hub`; without a clock `recordings` holds a file back. Throws ``ChannelFailure``.
    init(
        _ configuration: ChannelConfiguration, into hub: PacketStream, recordings: RecordingSlot,
        listening: ChannelListening, clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) {
        let location = configuration.sources[0].input
        source =
            try listening.source(at: location, clock: clock, logger: logger)
            ?? LibAVPacketSource(location, loops: configuration.loops, logger: logger)
        name = configuration.sources[0].name
        listening.whenGivenUp { [source] in source.stop() }
        do throws(IngestError) {
            input = try source.open()
        } catch {
            throw ChannelFailure(.inputUnreadable, "\(error)")
        }
        if !configuration.isPaced, !input.canWait {
            throw ChannelFailure(
                .configuration, "--unpaced is for files: \(location) comes at its own pace. Leave it out.")
        }
        (self.hub, self.recordings, self.logger) = (hub, recordings, logger)
        monitor = try Self.makeMonitor(configuration, logger)
        let timeline = PacketTimeline(input, audioOffset: location.tracks.audioOffset)
        heartbeat = Heartbeat("passthrough", clock: clock)
        mix = try TrackMix(
            configuration, of: timeline.stream, canWait: input.canWait, publisher: heartbeat, into: hub)
        passed = mix?.passed ?? PassthroughSink(hub)
        sink = mix?.sink ?? passed
        isPaced = configuration.isPaced
        encodedGOP = configuration.encoder.gop
        limit = configuration.duration?.inNanoseconds
        self.clock = clock
        state = Mutex(State(timeline: timeline))
    }

    /// What watches the audio of a program that is passed through; nil if nothing of it is to be watched.
    static func makeMonitor(
        _ configuration: ChannelConfiguration, _ logger: Logger
    ) throws(ChannelFailure) -> PacketMonitor? {
        let settings = configuration.monitor
        guard settings.measuresLoudness || settings.silence != nil else { return nil }
        do {
            return try PacketMonitor(settings, channel: configuration.name, logger: logger)
        } catch {
            throw ChannelFailure(.internalError, "Loudness cannot be measured: \(error).")
        }
    }

    var description: StreamDescription {
        let stream = state.withLock { $0.timeline.stream }
        return mix?.description(of: stream) ?? stream
    }
    var keyframes: any KeyframeRequester { mix?.keyframes ?? NoKeyframes() }
    var delay: Duration? { input.canWait ? nil : mix?.delay }
    /// What broadcasters and cameras send; the sender decides.
    var gop: Duration { mix?.keyframes == nil ? .seconds(10) : encodedGOP }

    func run() -> ChannelEnd {
        source.start(into: self)
        ended.wait()
        source.stop()
        sink.finish()
        let (failure, frames) = state.withLock { ($0.failure, $0.status.packets) }
        if let failure = mix?.sink.status.failure {
            logger.critical("the encoder failed: \(failure)")
            return .failed(.internalError)
        }
        if let failure {
            logger.error("the program ended because its source failed: \(failure)")
            return .failed(.inputUnreadable)
        }
        guard frames == 0, !isStopped.load(ordering: .acquiring) else { return .done }
        logger.error("The input ended without a single keyframe.")
        return .failed(.inputUnreadable)
    }

    var heartbeats: [Heartbeat] { [heartbeat] + (mix.map { [$0.sink.heartbeat] } ?? []) }

    private let isStopped = Atomic(false)

    func stop() {
        isStopped.store(true, ordering: .releasing)
        end(failure: nil)
        source.stop()
    }

    var status: ChannelStatus {
        let (passed, rate, counts, silent) = state.withLock {
            ($0.status, $0.rate.rate, $0.timeline.counts, $0.timeline.silentTracks)
        }
        var source = source.status
        source.silentTracks = silent
        var status = ChannelStatus(
            sources: [source], feed: FeedStatus(), program: ProgramStatus(), encoder: EncoderStatus(),
            frameRate: input.stream.video?.nominalRate ?? rate ?? FrameRate(25), outputs: [])
        status.passthrough = passed
        status.monitor = monitor?.status
        status.passthrough?.undecodableFrames = counts.undecodableFrames
        status.passthrough?.movedPackets = self.passed.counts.moved
        status.passthrough?.transcodingErrors = mix?.sink.status.errors ?? 0
        status.passthrough?.skippedPackets = mix?.sink.status.skipped ?? 0
        return status
    }
}

extension Passthrough: PacketSourceSink {
    func take(_ packet: EncodedPacket, at arrival: Timestamp) {
        heartbeat.beat()
        defer { heartbeat.rest() }
        let (packets, events) = state.withLock { state in
            state.isOver ? ([], []) : (state.timeline.take(packet, at: arrival), state.timeline.takeEvents())
        }
        for event in events { event.log(of: name, by: logger) }
        for packet in packets {
            guard isWithinLimit(packet) else { return end(failure: nil) }
            if input.canWait { wait(for: packet) }
            guard count(packet) else { return }
            sink.publish(packet)
            monitor?.take(packet)
            if mix?.sink.status.failure != nil { return end(failure: nil) }
        }
    }

    func restart() { state.withLock { $0.timeline.restart() } }

    func end(failure: String?) {
        state.withLock { state in
            guard !state.isOver else { return }
            state.isOver = true
            state.failure = failure
            ended.signal()
        }
    }

    private func isWithinLimit(_ packet: EncodedPacket) -> Bool {
        guard let limit else { return true }
        return state.withLock { state in
            let first = state.first ?? packet.dtsNanoseconds
            state.first = first
            return packet.dtsNanoseconds - first < limit
        }
    }

    /// Holds a source that can wait until the packet is due, or the recording has room.
    private func wait(for packet: EncodedPacket) {
        guard isPaced else {
            heartbeat.resting { recordings.current?.waitForRoom() }
            return
        }
        clock.sleep {
            heartbeat.beat()
            return due(packet.dtsNanoseconds)
        }
    }

    /// When a packet of this time is due; nil if the program is over.
    private func due(_ time: Int64) -> Int64? {
        state.withLock { state in state.isOver ? nil : state.pace.due(time, now: clock.now) }
    }

    private func count(_ packet: EncodedPacket) -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            state.status.count(packet)
            state.rate.take(packet)
            return true
        }
    }
}

/// Keyframes come when the sender makes them.
struct NoKeyframes: KeyframeRequester {
    func requestKeyframe(at programTime: Int64?) {}
}
