// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Logging
internal import Media
internal import Program
internal import SourceClock
internal import Status
internal import Studio
internal import Synchronization

/// A source with backups and a slate, decoded: a ``SourceSwitch`` says which of its inputs is open and which is on air, and a
/// bus shows it. All calls may come from any thread.
final class SourceInputs: ProgramSource {
    /// One input of the list.
    struct Input {
        var description: SourceDescription?
        var feed: SourceFeed?
    }

    struct State {
        var sources: [StandbySource] = []
        var inputs: [Input]
        /// The program's; nil until ``prepare(_:audio:)``.
        var format: VideoFormat?
        /// What is heard in place of the inputs' own audio.
        var audio: SourceFeed?
        var slate: Slate?
        var file = FilePlace()
        /// Whether somebody wants what is on air; nil if it is kept ready whether or not.
        var isWanted: (@Sendable () -> Bool)?
        /// What feeds that are gone delivered.
        var delivered = FeedStatus()
    }

    /// More than inputs wait that are not told how long.
    private static let usualLatency = Duration.seconds(5)

    let bus = Bus()
    let hasAudio = true
    let configured: ChannelConfiguration.Source
    private let configuration: ChannelConfiguration
    /// Whether it is one of the sources of a program that has scenes.
    private let isOneOfSeveral: Bool
    private let names: [String]
    let choice: SourceSwitch
    private let clock: any MonotonicClock
    private let logger: Logger
    let state: Mutex<State>

    /// Begins to open the inputs of `source`, one of `configuration`; none of them delivers before ``prepare(_:audio:)``.
    /// Switches are noted in the catalogue of what is recorded. `common` is the buffer that several sources share.
    init(
        _ source: ChannelConfiguration.Source, of configuration: ChannelConfiguration, common: CommonBuffer?,
        listening: any InputOpener, recordings: RecordingSlot, clock: any MonotonicClock, logger: Logger
    ) {
        (self.configuration, self.clock, self.logger) = (configuration, clock, logger)
        (configured, isOneOfSeveral, names) = (source, configuration.hasScenes, source.inputNames)
        choice = SourceSwitch(
            names, options: configuration.choice(of: source), channel: configuration.name, recordings: recordings,
            clock: clock, logger: logger)
        state = Mutex(State(inputs: names.map { _ in Input() }))
        let sources = source.inputs.enumerated().map { makeSource($0, $1, common, listening) }
        state.withLock { $0.sources = sources }
        listening.whenGivenUp { [weak self] in self?.stop() }
        choice.begin(self)
    }

    func prepare(_ format: VideoFormat, audio: SourceFeed?) throws(ChannelFailure) {
        let slate = try configuration.slate.map { (slate) throws(ChannelFailure) in
            try Slate(
                slate, channel: isOneOfSeveral ? configured.name : configuration.name, format: format, bus: bus,
                clock: clock, logger: logger)
        }
        state.withLock { state in (state.format, state.audio, state.slate) = (format, audio, slate) }
    }

    /// It reads already.
    func start() {}

    func stop() {
        choice.stop()
        let (sources, slate) = state.withLock { ($0.sources, $0.slate) }
        for source in sources { source.stop() }
        slate?.stop()
        // One that was just being opened again.
        choice.afterwards {
            for source in sources { source.stop() }
        }
    }

    var now: Timestamp { Timestamp(nanoseconds: clock.now) }
}

// MARK: Status

extension SourceInputs {
    var statuses: [SourceStatus] { sources.map(\.report.status) }

    var selection: SelectionStatus? { choice.status }

    var feedStatus: FeedStatus {
        let (delivered, feeds) = state.withLock { ($0.delivered, $0.inputs.compactMap(\.feed)) }
        return feeds.reduce(delivered) { $0 + $1.status }
    }
}

// MARK: The program's shape

extension SourceInputs {
    /// Waits until one of `all`, which are open side by side, says what the program looks like, 10 s at most; not at all where
    /// there is a slate, a size and a frame rate. One behind the first counts when those before it have failed, or the time
    /// is over. Throws ``ChannelFailure`` if none answers and there is no slate.
    static func native(
        among all: [SourceInputs], _ configuration: ChannelConfiguration, clock: any MonotonicClock
    ) throws(ChannelFailure) -> VideoFormat {
        let isGiven = configuration.slate != nil && configuration.size != nil && configuration.frameRate != nil
        let deadline = clock.now + (isGiven ? 0 : SourceSwitch.patience)
        while true {
            let isOverdue = clock.now >= deadline
            // Asked before what is known: it ends when that is there.
            let isDescribing = all.contains(where: \.isDescribing)
            let candidates = isOverdue ? all[...] : all.prefix(1 + all.prefix { $0.isHopeless }.count)
            if let native = candidates.lazy.compactMap({ $0.native(isOverdue: isOverdue) }).first { return native }
            if isOverdue && !isDescribing || all.allSatisfy(\.isHopeless) {
                guard configuration.slate != nil else { throw all[0].choice.noAnswer(of: all[0].sources) }
                return .usual
            }
            clock.sleep(until: clock.now + SourceSwitch.pause)
        }
    }

    private var sources: [StandbySource] { state.withLock { $0.sources } }
    private var isHopeless: Bool { choice.isHopeless(sources) }
    private var isDescribing: Bool { SourceSwitch.isDescribing(sources) }

    /// What its video looks like, as far as an input has answered that counts.
    private func native(isOverdue: Bool) -> VideoFormat? {
        choice.answer(
            of: sources, isOverdue: isOverdue, known: state.withLock { $0.inputs.map(\.description?.video) })
    }
}

// MARK: The inputs

extension SourceInputs {
    private func makeSource(
        _ index: Int, _ location: InputLocation, _ common: CommonBuffer?, _ listening: any InputOpener
    ) -> StandbySource {
        // A backup has no end. What is played once is the first input, unless it is to loop.
        let options = IngestOptions(
            loop: (index > 0 || configuration.loops) && location.isLiveByNature != true, size: configuration.size,
            frameRate: configuration.frameRate)
        let (logger, clock) = (logger, clock)
        return StandbySource(name: names[index], logger: logger) { [weak self] opening, isWanted in
            var options = options
            options.commonBuffer = common
            // One of several sources leaves the machine to the others.
            if self?.isOneOfSeveral == true { opening.mayReduce() }
            if index == 0 { options.start = self?.state.withLock { $0.file.start } ?? .zero }
            let source = try listening.open(location, options, opening: opening, clock: clock, logger: logger)
            guard let self, let video = source.description.video else {
                source.stop()
                throw IngestError.invalidOption(input: location.description, reason: "it has no video")
            }
            if let (feed, format) = take(index, source.description, video, isWanted) {
                source.start(into: feed, video: format, audio: .program)
            }
            return StandbySource.Running(source)
        }
    }

    /// Makes the feed for an input that was opened, as soon as the program's format is known; nil if the input is not
    /// wanted any more. Runs on its source's queue, which it blocks.
    private func take(
        _ index: Int, _ description: SourceDescription, _ video: VideoFormat, _ isWanted: () -> Bool
    ) -> (SourceFeed, VideoFormat)? {
        var format: VideoFormat?
        state.withLock { $0.inputs[index].description = description }
        while format == nil {
            guard isWanted() else { return nil }
            format = state.withLock { $0.format }
            if format == nil { clock.sleep(until: clock.now + SourceSwitch.pause) }
        }
        guard let format else { return nil }
        // A backup that was opened to be shown begins with its first frame, however long it takes until it is shown.
        // One of several sources is recorded while it is not seen.
        let stands =
            index == 0
            ? configured.whenOff != .keep : configured.selection.standby == .cold && !isOneOfSeveral
        let delay = configured.inputs[index].latency ?? Self.usualLatency
        let feed = SourceFeed(
            pacing: description.isLive ? .live(frameRate: video.frameRate) : .paced, frameRate: format.frameRate,
            audio: .program, leads: configured.inputs[index].isReference,
            standsUnseen: stands,
            keepsPackets: isOneOfSeveral && configured.canKeepPackets && description.isLive ? delay : nil,
            wanted: bus.packets,
            clock: clock)
        replace(index, by: feed)
        bus.add(feed)
        return (feed, format)
    }

    func replace(_ index: Int, by feed: SourceFeed?) {
        let old = state.withLock { state in
            let old = state.inputs[index].feed
            if let old { state.delivered = state.delivered + old.status }
            state.inputs[index].feed = feed
            return old
        }
        if let old { bus.remove(old) }
    }

    func source(_ input: Int) -> StandbySource { state.withLock { $0.sources[input] } }
}

// MARK: The choice

extension SourceInputs: SwitchedSources {
    func report(of input: Int, at now: Timestamp) -> InputReport {
        // A file that is closed while it is not wanted is not reported as lost.
        if input == 0, state.withLock({ $0.file.isClosed }) { return InputReport(isRunning: true, newest: now) }
        let report = source(input).report
        let feed = state.withLock { $0.inputs[input].feed }
        // The end of one of several sources does not end the program: the others continue.
        if report.isOver, input == 0, feed != nil, !isOneOfSeveral { bus.finish() }
        return InputReport(
            isRunning: report.status.state == .running, failures: report.failures, newest: feed?.newestVideo(at: now),
            skipped: report.status.framesSkipped)
    }

    func open(_ input: Int, _ decoding: SourceSelector.Decoding) {
        decode(input, decoding)
        source(input).start()
    }

    func decode(_ input: Int, _ decoding: SourceSelector.Decoding) {
        source(input).decode(onlyKeyframes: decoding == .keyframes)
    }

    var isWanted: Bool { state.withLock { $0.isWanted }?() ?? true }

    func close(_ input: Int) {
        // An input that is closed because it is not wanted leaves its last frame on the bus.
        let feed = state.withLock { $0.inputs[input].feed }
        if let last = feed?.newestFrame, scene(of: .source(input)) == bus.scene {
            bus.show(Scene(video: .still(last), audio: nil))
        }
        source(input).stop()
        replace(input, by: nil)
        state.withLock { $0.inputs[input] = Input() }
    }

    func air(_ next: SourceSelector.OnAir) {
        let slate = state.withLock { $0.slate }
        if next == .slate { slate?.start() }
        refresh(next)
        if next != .slate { slate?.stop() }
    }

    /// The feed of an input on air is another one after it was opened again, and a slate may have begun to play. What was
    /// decided before it was known what the program looks like is shown now.
    func refresh(_ onAir: SourceSelector.OnAir) {
        checkFile()
        guard let scene = scene(of: onAir), scene != bus.scene else { return }
        bus.show(scene)
    }

    /// What is shown; nil while an input has no feed, or the slate is not there yet.
    private func scene(of onAir: SourceSelector.OnAir) -> Scene? {
        let (inputs, slate, audio) = state.withLock { ($0.inputs, $0.slate, $0.audio) }
        switch onAir {
        case .source(let input):
            if input == 0, let still = fileStill(inputs[0].feed) { return still }
            return inputs[input].feed.map { Scene(video: .feed($0), audio: audio ?? $0) }
        case .slate: return slate.map { Scene(video: $0.video(at: now), audio: audio) }
        }
    }
}

extension FeedStatus {
    /// The sum of what two feeds delivered.
    static func + (left: FeedStatus, right: FeedStatus) -> FeedStatus {
        var sum = left
        sum.framesIn += right.framesIn
        sum.framesDropped += right.framesDropped
        sum.framesRepeated += right.framesRepeated
        sum.framesLate += right.framesLate
        sum.silentSamples += right.silentSamples
        sum.cutSamples += right.cutSamples
        sum.resyncs += right.resyncs
        return sum
    }
}
