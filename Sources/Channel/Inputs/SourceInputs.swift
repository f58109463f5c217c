// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Logging
internal import Media
internal import Program
internal import SourceClock
internal import Status
internal import Studio
internal import Synchronization

/// A decoded source with backups and a slate. A ``SourceSwitch`` decides which of its inputs are open and which one is
/// on air. The source's bus shows the input on air. All calls may be made on any thread.
final class SourceInputs: ProgramSource {
    /// One of the source's inputs.
    struct Input {
        var description: SourceDescription?
        var feed: SourceFeed?
    }

    struct State {
        var sources: [StandbySource] = []
        var inputs: [Input]
        /// The program's format; nil until ``prepare(_:audio:)``.
        var format: VideoFormat?
        /// The audio that is played instead of the inputs' own audio.
        var audio: SourceFeed?
        var slate: Slate?
        var file = FilePlace()
        /// Returns whether the input on air is wanted at present; nil if the input is always kept ready.
        var isWanted: (@Sendable () -> Bool)?
        /// The sums of the frame and sample counts of all feeds that were removed.
        var delivered = FeedStatus()
    }

    /// The delay that is assumed for an input without a configured latency when its packets are kept. It is longer than
    /// the buffer of any input of this kind.
    private static let usualLatency = Duration.seconds(5)

    let bus = Bus()
    let hasAudio = true
    let configured: ChannelConfiguration.Source
    private let configuration: ChannelConfiguration
    /// Whether this is one of the sources of a program that has scenes.
    private let isOneOfSeveral: Bool
    private let names: [String]
    let choice: SourceSwitch
    private let clock: any MonotonicClock
    private let logger: Logger
    let state: Mutex<State>

    /// Begins to open the inputs of `source`, which belongs to `configuration`. No input delivers frames before
    /// ``prepare(_:audio:)`` is called. Switches between inputs are recorded in the catalogue of the recording.
    /// `common` is the buffer length that several sources share.
    init(
        _ source: ChannelConfiguration.Source, of configuration: ChannelConfiguration, common: CommonBuffer?,
        listening: any InputOpener, recordings: ChannelRecordings, clock: any MonotonicClock, logger: Logger
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

    /// Does nothing, because `init` has already begun to open and read the inputs.
    func start() {}

    func stop() {
        let (sources, slate) = state.withLock { ($0.sources, $0.slate) }
        choice.stop {
            for source in sources { source.stop() }
            slate?.stop()
        }
    }

    var now: MonotonicInstant { clock.now }
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

// MARK: The program's format

extension SourceInputs {
    /// Returns the program's format. Waits at most 10 s until one of `all`, which are being opened in parallel, has
    /// answered; longer only while an input is connected and waits for its first keyframe. Does not wait if a slate, a
    /// size and a frame rate are configured. The first source determines the format. A later source determines it only
    /// if all sources before it have failed, or after the 10 s. Throws ``ChannelFailure`` if no source answers and
    /// there is no slate.
    static func native(
        among all: [SourceInputs], _ configuration: ChannelConfiguration, clock: any MonotonicClock
    ) throws(ChannelFailure) -> VideoFormat {
        let isGiven = configuration.slate != nil && configuration.size != nil && configuration.frameRate != nil
        let deadline = clock.now + (isGiven ? .zero : SourceSwitch.patience)
        while true {
            let isOverdue = clock.now >= deadline
            // `isDescribing` is read before the formats. In the opposite order, a format that becomes known between the
            // two reads would be missed, because `isDescribing` becomes false at the same time.
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

    /// Returns the format of the source's video; nil if the input that determines the format has not answered.
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
        // A backup (index > 0) always loops, because a backup must never end by itself. The first input loops only if
        // the configuration says so.
        let options = IngestOptions(
            loop: (index > 0 || configuration.loops) && location.isLiveByNature != true, size: configuration.size,
            frameRate: configuration.frameRate)
        let (logger, clock) = (logger, clock)
        return StandbySource(name: names[index], logger: logger) { [weak self] opening, isWanted in
            var options = options
            options.commonBuffer = common
            options.needs = .video
            // If the source is one of several, it is allowed to decode less, so that processor time is left for the
            // other sources.
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

    /// Waits until the program's format is known, and then makes the feed for an input that was opened. Returns nil if
    /// the input is not wanted any more. Runs on the queue of the input's source, and blocks that queue.
    private func take(
        _ index: Int, _ description: SourceDescription, _ video: VideoFormat, _ isWanted: () -> Bool
    ) -> (SourceFeed, VideoFormat)? {
        var format: VideoFormat?
        state.withLock { if isWanted() { $0.inputs[index].description = description } }
        while format == nil {
            guard isWanted() else { return nil }
            format = state.withLock { $0.format }
            if format == nil { clock.sleep(until: clock.now + SourceSwitch.pause) }
        }
        guard let format else { return nil }
        // A file or backup that is opened because it is to be shown begins with its first frame, even if it is shown
        // much later. A backup of one of several sources is an exception: such a source is recorded even while it is
        // invisible, so the backup's media must not wait.
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
        bus.add(feed)
        // An input that was closed since it was opened gets no feed: otherwise frames of this opening would be
        // attributed to a later opening.
        let (isTaken, old) = state.withLock { state -> (Bool, SourceFeed?) in
            isWanted() ? (true, state.replaceFeed(of: index, by: feed)) : (false, feed)
        }
        if let old { bus.remove(old) }
        return isTaken ? (feed, format) : nil
    }

    /// Removes the feed of an input that was closed.
    func removeFeed(of index: Int) {
        if let old = state.withLock({ $0.replaceFeed(of: index, by: nil) }) { bus.remove(old) }
    }

    func source(_ input: Int) -> StandbySource { state.withLock { $0.sources[input] } }
}

// MARK: Switching between the inputs

extension SourceInputs: SwitchedSources {
    func report(of input: Int, at now: MonotonicInstant) -> InputReport {
        // A file that was closed because it is not wanted counts as running, so that it is not reported as lost.
        if input == 0, state.withLock({ $0.file.isClosed }) { return InputReport(isRunning: true, newest: now) }
        let report = source(input).report
        let feed = state.withLock { $0.inputs[input].feed }
        // If the source is one of several, its end does not end the program, because the other sources continue.
        if report.isOver, input == 0, feed != nil, !isOneOfSeveral { bus.finish() }
        let newest = feed?.newestVideo(at: now)
        // A file that was read to its end still counts as running while its feed has video to show. A short file and an
        // image are read to their end before they are shown.
        return InputReport(
            isRunning: report.status.state == .running || report.status.state == .ended && newest == now,
            failures: report.failures, newest: newest, skipped: report.status.framesSkipped)
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
        // If an input is closed while it is on air, it is closed because it is neither visible nor audible. The input's
        // last frame stays on the bus.
        let feed = state.withLock { $0.inputs[input].feed }
        if let last = feed?.newestFrame, scene(of: .source(input)) == bus.scene {
            bus.show(Scene(video: .still(last), audio: nil))
        }
        source(input).stop()
        removeFeed(of: input)
        state.withLock { $0.inputs[input] = Input() }
    }

    func air(_ next: SourceSelector.OnAir) {
        let slate = state.withLock { $0.slate }
        if next == .slate { slate?.start() }
        refresh(next)
        if next != .slate { slate?.stop() }
    }

    /// Closes or reopens the file if necessary. Then puts the scene of `onAir` on the bus, unless the bus already shows
    /// it. The scene also changes without a switch: an input that was reopened has a new feed, and a slate might have
    /// begun to play. A switch that was made before the program's format was known takes effect here.
    func refresh(_ onAir: SourceSelector.OnAir) {
        checkFile()
        guard let scene = scene(of: onAir), scene != bus.scene else { return }
        bus.show(scene)
    }

    /// Returns the scene for the input or slate on air; nil while the input has no feed, or while the slate does not
    /// exist yet.
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

extension SourceInputs.State {
    /// Replaces the feed of an input, and returns the old feed, whose counts are kept.
    fileprivate mutating func replaceFeed(of index: Int, by feed: SourceFeed?) -> SourceFeed? {
        let old = inputs[index].feed
        if let old { delivered = delivered + old.status }
        inputs[index].feed = feed
        return old
    }
}

extension FeedStatus {
    /// The sum of the counts of two feeds.
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
