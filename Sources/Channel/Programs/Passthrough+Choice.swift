// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Logging
internal import Media
internal import SourceClock
internal import Status
internal import Synchronization

/// The choice between the inputs and the slate of a program that is passed through. For the splicer, the slate is an
/// additional input after the configured inputs.
extension Passthrough: SwitchedSources {
    /// The index of the slate among the splicer's inputs.
    var slateIndex: Int { names.count }

    func report(of input: Int, at now: MonotonicInstant) -> InputReport {
        let report = state.withLock { $0.sources[input] }.report
        if report.isOver, input == 0, known(0..<1)[0] != nil { end(failure: nil) }
        return InputReport(
            isRunning: report.status.state == .running, failures: report.failures,
            newest: airState.withLock { $0.newest[input] })
    }

    func open(_ input: Int, _ decoding: SourceSelector.Decoding) {
        _ = airState.withLock { $0.closing.remove(input) }
        state.withLock { $0.sources[input] }.start()
    }

    /// Does nothing, because nothing is decoded.
    func decode(_ input: Int, _ decoding: SourceSelector.Decoding) {}

    /// Closes an input. If the input is on air, it is closed only at the first keyframe of the input that replaces it.
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
                // The slate is not closed now, but at the first keyframe of `input`: it stays on air until then.
                if slate != nil { air.closing.insert(slateIndex) }
            case .slate: showSlate(in: &air)
            }
        }
    }

    func refresh(_ onAir: SourceSelector.OnAir) {
        if onAir == .slate { slate?.refresh() }
    }
}

// MARK: Inputs

extension Passthrough {
    /// Makes the input `index`. The ``SourceSwitch`` opens it when it is wanted. Opening is retried until the input
    /// answers.
    func makeStandby(
        _ index: Int, _ location: InputLocation, _ listening: any InputOpener
    ) -> StandbySource {
        // A backup (index > 0) always loops, because a backup must never end by itself.
        let (loops, clock, logger) = (index > 0 || configuration.loops, clock, logger)
        let needs = Self.neededTrack(of: configuration)
        return StandbySource(name: names[index], logger: logger) { [weak self] opening, isWanted in
            let source = try listening.packets(
                at: location, loops: loops, needs: needs, opening: opening, clock: clock, logger: logger)
            opening.whenCancelled { source.stop() }
            let description = try source.open()
            Self.noteRotation(of: description.stream, "\(location)", logger)
            if let self {
                // The input is registered only if it was not closed while it was being opened.
                let turn = airState.withLock { air in
                    isWanted() ? air.open(index, description, audioOffset: location.tracks.audioOffset) : nil
                }
                if let turn { source.start(into: PassthroughInput(self, turn, description)) }
            }
            return StandbySource.Running(source)
        }
    }

    /// Waits until the tracks of an input are known, and returns them. If no input answers, waits for the tracks of the
    /// slate.
    func awaitDescription(
        _ choice: SourceSwitch, of sources: [StandbySource]
    ) throws(ChannelFailure) -> StreamDescription {
        let answer = choice.answer(of: sources, within: SourceSwitch.patience) { known(names.indices) }
        guard let stream = answer ?? awaitSlate() else { throw choice.noAnswer(of: sources) }
        if slate != nil, let reason = Self.refusal(of: stream) { warnOfNoSlate(reason) }
        return stream
    }

    /// Waits until the tracks of the slate are known, or those of an input that has answered in the meantime. Returns
    /// nil if there is no slate, if the program was ended, or after 10 s.
    private func awaitSlate() -> StreamDescription? {
        guard slate != nil else { return nil }
        let deadline = clock.now + SourceSwitch.patience
        while clock.now < deadline, !isOver {
            if let known = known(0..<slateIndex + 1).lazy.compactMap({ $0 }).first { return known }
            clock.sleep(until: clock.now + SourceSwitch.pause)
        }
        return nil
    }

    /// Returns the tracks of the inputs; nil for each input that has not answered.
    private func known(_ inputs: Range<Int>) -> [StreamDescription?] {
        airState.withLock { air in inputs.map { air.splicer.stream(of: $0) } }
    }

    /// Whether the packets of this turn, which is one opening of an input, are still wanted.
    func isWanted(_ turn: PassthroughTurn) -> Bool {
        let (isCurrent, isClosing) = airState.withLock { ($0.isCurrent(turn), $0.closing.contains(turn.index)) }
        return isCurrent && !isOver && (isClosing || choice?.isOpen(turn.index) != false)
    }

    /// Whether the program has begun, and the input is on air or goes on air at its next keyframe.
    func isPlayed(_ index: Int) -> Bool {
        airState.withLock { $0.hasBegun && ($0.splicer.onAir == index || $0.splicer.next == index) }
    }

    /// Records when the leading track of an input last delivered a packet. The leading track is the video, if there is
    /// video.
    func noteVideo(of turn: PassthroughTurn, at moment: MonotonicInstant) {
        airState.withLock { $0.noteVideo(of: turn, at: moment) }
    }

    /// Called when the source of an input has ended. If there are no backups and no slate, this ends the program.
    func ended(failure: String?) {
        if choice == nil { end(failure: failure) }
    }

    /// Closes an input that has no more packets for the program. The check and the closing run on the queue of
    /// `choice`. On another queue, an input that is requested again at the same moment could be closed although the
    /// switch regards it as open.
    func leave(_ input: Int) {
        if input == slateIndex { return shutSlate() }
        choice?.perform { [self] in
            if choice?.isOpen(input) != true { shut(input) }
        }
    }

    private func shut(_ input: Int) {
        state.withLock { $0.sources[input] }.stop()
        airState.withLock { $0.close(input) }
    }
}

// MARK: The slate

extension Passthrough {
    /// Receives the slate's packets, and handles them like the packets of an additional input.
    private final class SlateTap: EncodedSlate.Sink {
        private let hasAudio: Bool
        private weak let owner: Passthrough?
        /// The slate's current turn; nil before the slate's encoder is open.
        private let turn = Mutex<PassthroughTurn?>(nil)

        init(_ owner: Passthrough, hasAudio: Bool) { (self.owner, self.hasAudio) = (owner, hasAudio) }

        func begin(_ description: StreamDescription) {
            let stream = StreamDescription(
                video: description.video, audio: hasAudio ? description.audio : nil, data: [])
            let source = PacketSourceDescription(stream: stream, canWait: false, clock: .file, stampBits: nil)
            guard let owner else { return }
            let opened = owner.airState.withLock { $0.open(owner.slateIndex, source) }
            turn.withLock { $0 = opened }
        }

        func publish(_ packet: EncodedPacket) {
            guard let owner, let turn = turn.withLock({ $0 }), hasAudio || packet.track == .video else { return }
            let now = owner.clock.now
            owner.publish(owner.timed(packet, of: turn, at: now), of: turn, at: now)
        }

        func finish() {}
    }

    /// Describes why no slate can replace an input with the tracks of `stream`; nil if a slate can.
    static func refusal(of stream: StreamDescription) -> String? {
        switch stream.video?.codec {
        case .h264: nil
        case let codec?: "the input is \(codec), and a slate can be encoded as H.264 alone"
        case nil: "the input is audio alone"
        }
    }

    private func warnOfNoSlate(_ reason: String) {
        logger.warning("there can be no slate", metadata: ["reason": "\(reason)"])
    }

    /// Puts the slate on air, beginning with its first frame, if the slate can be encoded with the same video codec as
    /// the input that it replaces.
    private func showSlate(in air: inout PassthroughAir) {
        guard let slate else { return }
        let known = names.indices.map { air.splicer.stream(of: $0) }
        let shown = air.shown ?? known.lazy.compactMap({ $0 }).first
        if let reason = shown.flatMap(Self.refusal) { return warnOfNoSlate(reason) }
        // The slate's silence can be encoded as AAC only, so the slate has no audio if it replaces another codec.
        let hasAudio = shown.map { $0.audio?.codec == .aac } ?? true
        air.closing.remove(slateIndex)
        air.splicer.show(slateIndex)
        slate.start(like: shown?.video, into: SlateTap(self, hasAudio: hasAudio))
    }

    /// Ends the slate, unless the slate was requested again before this call.
    private func shutSlate() {
        airState.withLock { air in
            guard choice?.onAir != .slate else { return }
            slate?.stop()
            air.close(slateIndex)
        }
    }
}
