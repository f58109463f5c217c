// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Encoder
internal import FanOut
internal import Ingest
internal import Logging
internal import Media
internal import Monitor
internal import Program
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

    /// What is published, and in which order: locked for as long as it takes to hand a packet to all queues.
    fileprivate struct Air {
        var splicer = PacketSplicer()
        var status = PassthroughStatus()
        var first: Int64?
        /// Whether the program has begun. What came before, or before an input was chosen, waits in ``early``.
        var hasBegun = false
        var early: [(packet: EncodedPacket, index: Int, arrival: Timestamp)] = []
        var earlyBytes = 0
        /// Inputs that are closed as soon as another one has taken over from them.
        var closing: Set<Int> = []
    }

    /// What may wait for the program's beginning. More is given up, and it begins with a later keyframe.
    private static let mostEarlyBytes = 32 << 20

    private let configuration: ChannelConfiguration
    private let names: [String]
    private let choice: SourceSwitch
    private let sink: PassthroughSink
    /// Decodes the audio, if that was asked for.
    private let monitor: PacketMonitor?
    private let clock: any MonotonicClock
    private let logger: Logger
    private let state: Mutex<State>
    private let airState = Mutex(Air())
    private let ended = DispatchSemaphore(value: 0)
    private let firstStream = Mutex(StreamDescription())

    /// Opens the inputs that `configuration` names, and waits until one of them says how it is coded, 10 s at most. Throws
    /// ``RelayFailure`` if none does. Packets go to `hub`, and switches are noted in the catalogue of what is recorded.
    init(
        _ configuration: ChannelConfiguration, into hub: PacketStream, recordings: RecordingSlot,
        listening: ChannelListening, clock: any MonotonicClock, logger: Logger
    ) throws(RelayFailure) {
        (self.configuration, self.clock, self.logger) = (configuration, clock, logger)
        names = configuration.inputNames
        monitor = try Passthrough.makeMonitor(configuration, logger)
        choice = SourceSwitch(
            names, options: configuration.choice, channel: configuration.name, recordings: recordings, clock: clock,
            logger: logger)
        sink = PassthroughSink(hub)
        state = Mutex(State(inputs: names.map { _ in Input() }))
        let sources = configuration.inputs.enumerated().map { makeSource($0, $1, listening) }
        state.withLock { $0.sources = sources }
        choice.begin(self)
        do throws(RelayFailure) {
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
                ?? LibAVPacketSource(location, loops: index > 0, logger: logger)
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

    private func awaitDescription() throws(RelayFailure) {
        let sources = state.withLock { $0.sources }
        let stream = choice.answer(of: sources, within: SourceSwitch.patience) {
            airState.withLock { air in names.indices.map { air.splicer.stream(of: $0) } }
        }
        guard let stream else { throw choice.noAnswer(of: sources) }
        firstStream.withLock { $0 = stream }
    }

    var description: StreamDescription { firstStream.withLock { $0 } }
    var keyframes: any KeyframeRequester { NoKeyframes() }
    var delay: Duration? { nil }
    /// What broadcasters and cameras send; the sender decides.
    var gop: Duration { .seconds(10) }

    func run() -> ExitStatus {
        airState.withLock { $0.hasBegun = true }
        ended.wait()
        choice.stop()
        for source in state.withLock({ $0.sources }) { source.stop() }
        sink.finish()
        return .done
    }

    func stop() {
        end()
        choice.stop()
        for source in state.withLock({ $0.sources }) { source.stop() }
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
        var status = ChannelStatus(
            sources: sources.map(\.report.status), selection: choice.status, feed: FeedStatus(),
            program: ProgramStatus(), encoder: EncoderStatus(),
            frameRate: description.video?.nominalRate ?? FrameRate(25), outputs: [])
        status.passthrough = airState.withLock { air in
            var passed = air.status
            passed.undecodableFrames = air.splicer.timelineCounts.undecodableFrames
            return passed
        }
        status.passthrough?.movedPackets = sink.counts.moved
        status.monitor = monitor?.status
        return status
    }
}

// MARK: Packets

extension SwitchedPassthrough {
    /// Where one input's source delivers. One thread at a time.
    private final class Tap: PacketSourceSink {
        private let index: Int
        private let canWait: Bool
        private let leading: TrackKind?
        private weak let owner: SwitchedPassthrough?
        /// Of a file.
        private let pace = Mutex(FilePace())

        init(_ owner: SwitchedPassthrough, _ index: Int, _ description: PacketSourceDescription) {
            (self.owner, self.index, canWait) = (owner, index, description.canWait)
            leading = description.stream.leadingKind
        }

        func take(_ packet: EncodedPacket, at arrival: Timestamp) {
            guard let owner else { return }
            if packet.track == leading { owner.noteVideo(of: index, at: arrival) }
            guard canWait else { return owner.publish(packet, of: index, at: arrival) }
            guard owner.hold(index, beginAnew) else { return }
            wait(for: packet, owner)
            owner.publish(packet, of: index, at: Timestamp(nanoseconds: owner.clock.now))
        }

        func restart() {
            beginAnew()
            owner?.airState.withLock { $0.splicer.restart(index) }
        }

        func end(failure: String?) {}

        private func beginAnew() { pace.withLock { $0 = FilePace() } }

        /// Waits until a file's packet is due.
        private func wait(for packet: EncodedPacket, _ owner: SwitchedPassthrough) {
            let time = packet.dtsNanoseconds
            while owner.isWanted(index), case let now = owner.clock.now {
                let due = pace.withLock { $0.due(time, now: now) }
                guard due > now else { return }
                owner.clock.sleep(until: min(due, now + 100_000_000))
            }
        }
    }

    private func isWanted(_ index: Int) -> Bool {
        let isOpen = choice.isOpen(index) || airState.withLock { $0.closing.contains(index) }
        return isOpen && state.withLock { !$0.isOver }
    }

    /// Whether the program has begun, and the input's packets are on air, or its next keyframe will be.
    private func isPlayed(_ index: Int) -> Bool {
        airState.withLock { $0.hasBegun && ($0.splicer.onAir == index || $0.splicer.next == index) }
    }

    private func noteVideo(of index: Int, at moment: Timestamp) {
        state.withLock { $0.inputs[index].newest = moment }
    }

    /// Holds a file until it is on air; `wait` is called if it was not. False if it is not wanted any more.
    private func hold(_ index: Int, _ wait: () -> Void) -> Bool {
        while isWanted(index) {
            if isPlayed(index) { return true }
            wait()
            // It has a frame ready.
            noteVideo(of: index, at: Timestamp(nanoseconds: clock.now))
            clock.sleep(until: clock.now + SourceSwitch.pause)
        }
        return false
    }

    private func publish(_ packet: EncodedPacket, of index: Int, at arrival: Timestamp) {
        guard state.withLock({ !$0.isOver }) else { return }
        let (isOver, left) = airState.withLock { air -> (Bool, [Int]) in
            guard air.hasBegun, air.splicer.onAir ?? air.splicer.next != nil else {
                air.keep(packet, of: index, at: arrival, limit: Self.mostEarlyBytes)
                return (false, [])
            }
            let isOver =
                air.takeEarly().contains { deliver($0.packet, of: $0.index, at: $0.arrival, &air) }
                || deliver(packet, of: index, at: arrival, &air)
            return (isOver, air.takeLeft())
        }
        for input in left { shut(input) }
        if isOver { end() }
    }

    /// Publishes what goes on air because of a packet. Whether the program is over.
    private func deliver(_ packet: EncodedPacket, of index: Int, at arrival: Timestamp, _ air: inout Air) -> Bool {
        for packet in air.splicer.take(packet, of: index, at: arrival) {
            let first = air.first ?? packet.dtsNanoseconds
            air.first = first
            if let limit = configuration.duration, packet.dtsNanoseconds - first >= limit.inNanoseconds { return true }
            air.status.count(packet)
            sink.publish(packet)
            monitor?.take(packet)
        }
        return false
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
        guard case .source(let input) = next else { return }
        airState.withLock { $0.splicer.show(input) }
    }

    func refresh(_ onAir: SourceSelector.OnAir) {}
}

extension SwitchedPassthrough.Air {
    fileprivate mutating func keep(_ packet: EncodedPacket, of index: Int, at arrival: Timestamp, limit: Int) {
        early.append((packet, index, arrival))
        earlyBytes += packet.payload.count
        if earlyBytes > limit { (early, earlyBytes) = ([], 0) }
    }

    /// What waited for the beginning.
    fileprivate mutating func takeEarly() -> [(packet: EncodedPacket, index: Int, arrival: Timestamp)] {
        defer { (early, earlyBytes) = ([], 0) }
        return early
    }

    /// The inputs to be closed that are not on air any more.
    fileprivate mutating func takeLeft() -> [Int] {
        guard !closing.isEmpty else { return [] }
        let left = closing.filter { splicer.onAir != $0 }
        closing.subtract(left)
        return Array(left)
    }
}
