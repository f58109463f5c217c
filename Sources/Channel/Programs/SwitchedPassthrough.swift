// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Encoder
internal import FanOut
internal import Ingest
internal import Logging
internal import Media
internal import Monitor
internal import Program
internal import SourceClock
internal import Status
internal import Synchronization

/// An input with backups whose packets go on air as they are: a ``SourceSwitch`` says which of them is open and which is
/// on air, and a `PacketSplicer` passes its packets on, from its next keyframe.
///
/// Sources' threads publish, one at a time. A file among the inputs is held until it is on air, and paced by its own
/// stamps.
final class SwitchedPassthrough: ChannelProgram {
    /// One input of the list.
    private struct Input {
        var description: PacketSourceDescription?
        var newest: Timestamp?
    }

    private struct State {
        var sources: [StandbySource] = []
        var inputs: [Input]
        var isOver = false
    }

    private let configuration: ChannelConfiguration
    let names: [String]
    let choice: SourceSwitch
    private let sink: PassthroughSink
    /// Decodes the audio, if that was asked for.
    private let monitor: PacketMonitor?
    let clock: any MonotonicClock
    let logger: Logger
    private let state: Mutex<State>
    let airState = Mutex(PassthroughAir())
    /// The slate, which is encoded while no input delivers anything; nil if there is no slate.
    let slate: EncodedSlate?
    private let ended = DispatchSemaphore(value: 0)
    /// The heartbeat of each input's thread, which rests between its packets: a source may be silent.
    let inputHeartbeats: [Heartbeat]
    private let firstStream = Mutex(StreamDescription())

    /// Opens the inputs that `configuration` names, and waits until one of them says how it is coded, 10 s at most. Throws
    /// ``ChannelFailure`` if none does. Packets go to `hub`, and switches are noted in the catalogue of what is recorded.
    init(
        _ configuration: ChannelConfiguration, into hub: PacketStream, recordings: RecordingSlot,
        listening: ChannelListening, clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) {
        (self.configuration, self.clock, self.logger) = (configuration, clock, logger)
        names = configuration.sources[0].inputNames
        monitor = try Passthrough.makeMonitor(configuration, logger)
        choice = SourceSwitch(
            names, options: configuration.choice(of: configuration.sources[0]), channel: configuration.name, recordings: recordings, clock: clock,
            logger: logger)
        sink = PassthroughSink(hub)
        slate = try configuration.slate.map { (slate) throws(ChannelFailure) in
            try EncodedSlate(slate, channel: configuration.name, clock: clock, logger: logger)
        }
        state = Mutex(State(inputs: names.map { _ in Input() }))
        inputHeartbeats = names.map { Heartbeat("passthrough of \($0)", clock: clock) }
        let sources = configuration.sources[0].inputs.enumerated().map { makeSource($0, $1, listening) }
        state.withLock { $0.sources = sources }
        listening.whenGivenUp { [weak self] in self?.stop() }
        choice.begin(self)
        do throws(ChannelFailure) {
            try awaitDescription()
        } catch {
            stop()
            throw error
        }
    }

    private func makeSource(_ index: Int, _ location: InputLocation, _ listening: ChannelListening) -> StandbySource {
        let (logger, clock) = (logger, clock)
        return StandbySource(name: names[index], logger: logger) { [weak self] opening, _ in
            // A backup has no end.
            let source: any PacketSource =
                try listening.source(at: location, clock: clock, logger: logger)
                ?? LibAVPacketSource(location, loops: index > 0, logger: logger, opening: opening)
            opening.whenCancelled { source.stop() }
            let description = try source.open()
            self?.take(index, description, audioOffset: location.tracks.audioOffset)
            if let self { source.start(into: Tap(self, index, description)) }
            return StandbySource.Running(source)
        }
    }

    private func take(_ index: Int, _ description: PacketSourceDescription, audioOffset: Duration) {
        airState.withLock { $0.splicer.open(index, description, audioOffset: audioOffset) }
        state.withLock { $0.inputs[index].description = description }
    }

    /// Waits until an input says how it is coded; if none does, until the slate is encoded.
    private func awaitDescription() throws(ChannelFailure) {
        let sources = state.withLock { $0.sources }
        let stream = choice.answer(of: sources, within: SourceSwitch.patience) { known(names.indices) }
        guard let stream = stream ?? awaitSlate() else { throw choice.noAnswer(of: sources) }
        if slate != nil, let reason = Self.refusal(of: stream) { warnOfNoSlate(reason) }
        firstStream.withLock { $0 = stream }
    }

    /// How inputs are coded, as far as they have said.
    private func known(_ inputs: Range<Int>) -> [StreamDescription?] {
        airState.withLock { air in inputs.map { air.splicer.stream(of: $0) } }
    }

    /// How the slate is coded, or an input that has answered meanwhile; nil if there is no slate.
    private func awaitSlate() -> StreamDescription? {
        guard slate != nil else { return nil }
        let deadline = clock.now + SourceSwitch.patience
        while clock.now < deadline {
            if let known = known(0..<slateIndex + 1).lazy.compactMap({ $0 }).first { return known }
            clock.sleep(until: clock.now + SourceSwitch.pause)
        }
        return nil
    }

    var description: StreamDescription { firstStream.withLock { $0 } }
    var keyframes: any KeyframeRequester { NoKeyframes() }
    var delay: Duration? { nil }
    /// What broadcasters and cameras send; the sender decides.
    var gop: Duration { .seconds(10) }

    func run() -> ChannelEnd {
        airState.withLock { $0.hasBegun = true }
        ended.wait()
        stop()
        sink.finish()
        return .done
    }

    var heartbeats: [Heartbeat] { inputHeartbeats + (slate?.heartbeat.map { [$0] } ?? []) }

    func stop() {
        end()
        choice.stop()
        for source in state.withLock({ $0.sources }) { source.stop() }
        slate?.stop()
    }

    private func end() {
        let isFirst = state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
        if isFirst { ended.signal() }
    }

    var status: ChannelStatus {
        let sources = state.withLock { $0.sources }
        var reports = sources.map(\.report.status)
        let (passed, rate) = airState.withLock { air in
            for index in reports.indices { reports[index].silentTracks = air.splicer.silentTracks(of: index) }
            var passed = air.status
            passed.undecodableFrames = air.splicer.timelineCounts.undecodableFrames
            return (passed, air.rate.rate)
        }
        var status = ChannelStatus(
            sources: reports, selection: choice.status, feed: FeedStatus(),
            program: ProgramStatus(), encoder: EncoderStatus(),
            frameRate: description.video?.nominalRate ?? rate ?? FrameRate(25), outputs: [])
        status.passthrough = passed
        status.passthrough?.movedPackets = sink.counts.moved
        status.monitor = monitor?.status
        return status
    }
}

// MARK: Packets

extension SwitchedPassthrough {
    func isWanted(_ index: Int) -> Bool {
        let isOpen = choice.isOpen(index) || airState.withLock { $0.closing.contains(index) }
        return isOpen && state.withLock { !$0.isOver }
    }

    /// Whether the program has begun, and the input's packets are on air, or its next keyframe will be.
    func isPlayed(_ index: Int) -> Bool {
        airState.withLock { $0.hasBegun && ($0.splicer.onAir == index || $0.splicer.next == index) }
    }

    func noteVideo(of index: Int, at moment: Timestamp) {
        state.withLock { $0.inputs[index].newest = moment }
    }

    func publish(_ packet: EncodedPacket, of index: Int, at arrival: Timestamp) {
        guard state.withLock({ !$0.isOver }) else { return }
        let (isOver, left, events) = airState.withLock {
            air -> (Bool, [Int], [SourceClockEvent]) in
            guard air.hasBegun, air.splicer.onAir ?? air.splicer.next != nil else {
                air.keep(packet, of: index, at: arrival)
                return (false, [], [])
            }
            let isOver =
                air.takeEarly().contains { deliver($0.packet, of: $0.index, at: $0.arrival, &air) }
                || deliver(packet, of: index, at: arrival, &air)
            return (isOver, air.takeLeft(), air.splicer.takeEvents(of: index))
        }
        if index < slateIndex { for event in events { event.log(of: names[index], by: logger) } }
        for input in left { leave(input) }
        if isOver { end() }
    }

    /// Publishes what goes on air because of a packet. Whether the program is over.
    private func deliver(
        _ packet: EncodedPacket, of index: Int, at arrival: Timestamp, _ air: inout PassthroughAir
    ) -> Bool {
        for packet in air.splicer.take(packet, of: index, at: arrival) {
            let first = air.first ?? packet.dtsNanoseconds
            air.first = first
            if let limit = configuration.duration, packet.dtsNanoseconds - first >= limit.inNanoseconds { return true }
            air.note(packet, of: index, isSlate: index == slateIndex)
            sink.publish(packet)
            monitor?.take(packet)
        }
        return false
    }

    /// Closes an input of which nothing goes on air any more, in turn with what the choice opens: one that is asked for
    /// again meanwhile would be open by the choice and closed for good.
    private func leave(_ input: Int) {
        if input == slateIndex { return shutSlate() }
        choice.perform { [self] in
            if !choice.isOpen(input) { shut(input) }
        }
    }

    private func shut(_ input: Int) {
        state.withLock { state in
            state.inputs[input] = Input()
            return state.sources[input]
        }.stop()
        airState.withLock { $0.splicer.close(input) }
    }
}

// MARK: The choice

extension SwitchedPassthrough: SwitchedSources {
    func report(of input: Int, at now: Timestamp) -> InputReport {
        let (source, known) = state.withLock { ($0.sources[input], $0.inputs[input]) }
        let report = source.report
        if report.isOver, input == 0, known.description != nil { end() }
        return InputReport(
            isRunning: report.status.state == .running, failures: report.failures, newest: known.newest)
    }

    func open(_ input: Int, _ decoding: SourceSelector.Decoding) {
        _ = airState.withLock { $0.closing.remove(input) }
        state.withLock { $0.sources[input] }.start()
    }

    /// Nothing is decoded.
    func decode(_ input: Int, _ decoding: SourceSelector.Decoding) {}

    /// One that is on air stays there until the keyframe of the one that follows.
    func close(_ input: Int) {
        let isPlayed = airState.withLock { air in
            guard air.splicer.onAir == input, let next = air.splicer.next, next != input else { return false }
            air.closing.insert(input)
            return true
        }
        if !isPlayed { shut(input) }
    }

    func air(_ next: SourceSelector.OnAir) {
        airState.withLock { air in
            switch next {
            case .source(let input):
                air.splicer.show(input)
                // It stays until the input's keyframe.
                if slate != nil { air.closing.insert(slateIndex) }
            case .slate: show(slate, in: &air)
            }
        }
    }

    func refresh(_ onAir: SourceSelector.OnAir) {
        if onAir == .slate { slate?.refresh() }
    }
}
