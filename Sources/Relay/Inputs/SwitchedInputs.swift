// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Ingest
internal import Logging
internal import Media
internal import Program
internal import Synchronization

/// An input with backups and a slate: `SourceSelector` says which of them is open and which is on air, and this carries
/// it out.
///
/// Decisions are made on a queue of its own, `relay.inputs.<channel>`, each 20 ms and at the selector's deadlines.
final class SwitchedInputs: ProgramInputs {
    /// One input of the list.
    private struct Input {
        var feed: SourceFeed?
        var hasAudio = false
        /// What the selector was told.
        var isConnected = false
        var failures = 0
        var newest: Timestamp?
        /// Frames that were not decoded, but came.
        var skipped: Int64 = 0
    }

    private struct State {
        var selector: SourceSelector
        var sources: [StandbySource] = []
        var inputs: [Input]
        var format: VideoFormat?
        var slate: Slate?
        var selection: SelectionStatus
        /// What feeds that are gone delivered.
        var delivered = FeedStatus()
        var isStopped = false
    }

    private static let interval: Int64 = 20_000_000
    /// How long an answer is waited for that says what the program looks like.
    private static let patience: Int64 = 10_000_000_000

    let stage = Stage()
    let canReadAhead = false
    private let configuration: ChannelConfiguration
    private let names: [String]
    private let audio: (source: any MediaSource, feed: SourceFeed)?
    private let clock: any MonotonicClock
    private let logger: Logger
    private let recordings: RecordingSlot
    private let queue: DispatchQueue
    private let state: Mutex<State>

    /// Opens the inputs that `configuration` names, and waits until one of them says what the program looks like, 10 s at
    /// most; not at all where there is a slate, `--size` and `--fps`. Throws ``RelayFailure`` if no input answers and there
    /// is no slate. Changes are noted in the catalogue of what is recorded.
    init(
        _ configuration: ChannelConfiguration, listening: ChannelListening, recordings: RecordingSlot,
        clock: any MonotonicClock, logger: Logger
    ) throws(RelayFailure) {
        (self.configuration, self.clock, self.logger) = (configuration, clock, logger)
        self.recordings = recordings
        let locations = [configuration.input] + configuration.backups
        names = [configuration.inputName ?? configuration.input.description] + configuration.backups.map(\.description)
        queue = DispatchQueue(label: "relay.inputs.\(configuration.name)")
        var options = configuration.selection
        options.hasSlate = configuration.slate != nil
        state = Mutex(
            State(
                selector: SourceSelector(count: locations.count, options: options),
                inputs: locations.map { _ in Input() }, selection: SelectionStatus(inputs: names)))
        let audio = try ChannelInputs.openAudio(configuration) { (location, options) throws(RelayFailure) in
            try listening.open(location, options, clock: clock, logger: logger)
        }
        self.audio = audio.map { source in
            let rate = configuration.frameRate ?? FrameRate(25)
            let pacing: SourceFeed.Pacing = source.description.isLive ? .live(frameRate: nil) : .waits
            return (source, SourceFeed(pacing: pacing, frameRate: rate, audio: .program, clock: clock))
        }
        let sources = locations.indices.map { makeSource($0, locations[$0]) }
        state.withLock { $0.sources = sources }
        handle(.started(at: now))
        schedule()
        do throws(RelayFailure) {
            try chooseFormat()
        } catch {
            stop()
            throw error
        }
    }

    var format: VideoFormat { state.withLock { $0.format } ?? Self.defaultFormat(configuration) }

    func start() {
        guard let audio else { return }
        audio.source.start(into: audio.feed, video: nil, audio: .program)
    }

    func stop() {
        let (sources, slate) = state.withLock { state in
            state.isStopped = true
            return (state.sources, state.slate)
        }
        for source in sources { source.stop() }
        slate?.stop()
        audio?.source.stop()
    }

    private var now: Timestamp { Timestamp(nanoseconds: clock.now) }
}

// MARK: Status

extension SwitchedInputs {
    var statuses: [SourceStatus] {
        state.withLock { $0.sources }.map(\.report.status) + (audio.map { [$0.source.status] } ?? [])
    }

    var selection: SelectionStatus? {
        state.withLock { state in
            var selection = state.selection
            selection.open = names.indices.filter { state.selector.isOpen($0) }.map { names[$0] }
            return selection
        }
    }

    var feedStatuses: (video: FeedStatus, audio: FeedStatus?) {
        let (delivered, feeds) = state.withLock { ($0.delivered, $0.inputs.compactMap(\.feed)) }
        let video = feeds.reduce(delivered) { $0 + $1.status }
        return (video, audio?.feed.status ?? video)
    }

    var failure: String? { nil }

    var lastVideoError: String? { state.withLock { $0.sources }.compactMap(\.report.status.lastError).first }
}

// MARK: The program's shape

extension SwitchedInputs {
    /// Waits until it is known what the program looks like.
    private func chooseFormat() throws(RelayFailure) {
        let isGiven = configuration.slate != nil && configuration.size != nil && configuration.frameRate != nil
        let deadline = clock.now + (isGiven ? 0 : Self.patience)
        while true {
            let reports = state.withLock { $0.sources }.map(\.report)
            let isOverdue = clock.now >= deadline
            let isWaiting = reports[0].failures == 0 && reports[0].description == nil
            if !isWaiting || isOverdue, let native = reports.lazy.compactMap(\.description?.video).first {
                return try decide(on: ChannelInputs.shape(native, configuration))
            }
            let open = state.withLock { state in names.indices.map { state.selector.isOpen($0) } }
            let isHopeless = zip(open, reports).allSatisfy { $0 && $1.failures > 0 }
            if isOverdue || isHopeless {
                if configuration.slate != nil { return try decide(on: Self.defaultFormat(configuration)) }
                let reason = reports.lazy.compactMap(\.status.lastError).first
                throw RelayFailure(.inputUnreadable, reason ?? "The input \(names[0]) does not answer.")
            }
            clock.sleep(until: clock.now + Self.interval / 2)
        }
    }

    /// The shape of a program whose inputs are all absent.
    private static func defaultFormat(_ configuration: ChannelConfiguration) -> VideoFormat {
        let native = VideoFormat(
            width: 1280, height: 720, frameRate: FrameRate(30),
            color: .unspecified)
        return ChannelInputs.shape(native, configuration)
    }

    private func decide(on format: VideoFormat) throws(RelayFailure) {
        let slate = try configuration.slate.map { (slate) throws(RelayFailure) in
            try Slate(
                slate, channel: configuration.name, format: format, stage: stage, clock: clock, logger: logger)
        }
        state.withLock { state in (state.format, state.slate) = (format, slate) }
    }
}

// MARK: The inputs

extension SwitchedInputs {
    private func makeSource(_ index: Int, _ location: InputLocation) -> StandbySource {
        // A backup has no end. What is played once is the first input.
        let options = IngestOptions(
            loop: index > 0 && location.isLiveByNature != true, size: configuration.size,
            frameRate: configuration.frameRate)
        let logger = logger
        return StandbySource(name: names[index], logger: logger) { opening in
            try SourceOpener.open(location, options: options, logger: logger, opening: opening)
        } take: { [weak self] description, isWanted in
            self?.take(index, description, isWanted)
        }
    }

    /// Makes the feed for an input that was opened, when it is known what the program looks like. On its source's queue.
    private func take(
        _ index: Int, _ description: SourceDescription, _ isWanted: () -> Bool
    ) -> StandbySource.Delivery? {
        guard let video = description.video else { return nil }
        var format: VideoFormat?
        while format == nil, isWanted() {
            format = state.withLock { $0.format }
            if format == nil { clock.sleep(until: clock.now + Self.interval / 4) }
        }
        guard let format else { return nil }
        let feed = SourceFeed(
            pacing: description.isLive ? .live(frameRate: video.frameRate) : .paced, frameRate: format.frameRate,
            audio: .program, clock: clock)
        let old = state.withLock { state in
            defer { (state.inputs[index].feed, state.inputs[index].hasAudio) = (feed, description.hasAudio) }
            if let old = state.inputs[index].feed { state.delivered = state.delivered + old.status }
            return state.inputs[index].feed
        }
        if let old { stage.remove(old) }
        stage.add(feed)
        return StandbySource.Delivery(sink: feed, video: format)
    }
}

// MARK: The choice

extension SwitchedInputs {
    /// Looks at the inputs again after a while, or when the selector wants to be asked.
    private func schedule() {
        let (deadline, isStopped) = state.withLock { ($0.selector.nextDeadline, $0.isStopped) }
        if isStopped { return }
        let now = clock.now
        let next = min(now + Self.interval, deadline?.nanoseconds ?? .max)
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(max(1_000_000, next - now)))) { [weak self] in
            self?.look()
            self?.schedule()
        }
    }

    /// Tells the selector what became of the inputs.
    private func look() {
        let sources = state.withLock { $0.sources }
        for (index, source) in sources.enumerated() { look(at: source.report, index) }
        handle(.tick(at: now))
        // The feed of an input on air is another one after it was opened again, and a slate may have begun to play. What
        // was decided before it was known what the program looks like is shown now.
        if let onAir = state.withLock({ $0.selector.onAir }), let scene = scene(of: onAir), scene != stage.scene {
            stage.show(scene)
        }
    }

    private func look(at report: StandbySource.Report, _ index: Int) {
        let input = state.withLock { $0.inputs[index] }
        if report.isOver, index == 0, input.feed != nil { return stage.finish() }
        let isRunning = report.status.state == .running
        if report.failures != input.failures || (input.isConnected && !isRunning) {
            state.withLock { state in
                (state.inputs[index].failures, state.inputs[index].isConnected) = (report.failures, false)
            }
            return handle(.lost(index, at: now))
        }
        guard isRunning else { return }
        if !input.isConnected {
            state.withLock { $0.inputs[index].isConnected = true }
            handle(.connected(index, at: now))
        }
        let (newest, skipped) = (input.feed?.newestVideo(at: now), report.status.framesSkipped)
        guard newest != input.newest || skipped != input.skipped else { return }
        state.withLock { ($0.inputs[index].newest, $0.inputs[index].skipped) = (newest, skipped) }
        // Frames that are not decoded show that the source lives once there is one to be seen.
        guard let newest else { return }
        handle(.video(index, at: skipped == input.skipped ? newest : now))
    }

    private func handle(_ event: SourceSelector.Event) {
        for action in state.withLock({ $0.selector.handle(event) }) {
            switch action {
            case .open(let index, let decoding):
                let source = state.withLock { state in
                    state.inputs[index] = Input()
                    return state.sources[index]
                }
                source.decode(onlyKeyframes: decoding == .keyframes)
                source.start()
            case .close(let index): close(index)
            case .decode(let index, let decoding):
                state.withLock { $0.sources[index] }.decode(onlyKeyframes: decoding == .keyframes)
            case .air(let next, let reason): air(next, reason)
            }
        }
    }

    private func close(_ index: Int) {
        let (source, feed) = state.withLock { state in
            let feed = state.inputs[index].feed
            if let feed { state.delivered = state.delivered + feed.status }
            state.inputs[index] = Input()
            return (state.sources[index], feed)
        }
        source.stop()
        if let feed { stage.remove(feed) }
        logger.info("input is closed", metadata: ["input": "\(names[index])"])
    }

    private func air(_ next: SourceSelector.OnAir, _ reason: SourceSelector.Reason) {
        let slate = state.withLock { $0.slate }
        if next == .slate { slate?.start() }
        if let scene = scene(of: next) { stage.show(scene) }
        if next != .slate { slate?.stop() }
        let name = name(of: next)
        let before = state.withLock { state in
            defer {
                if state.selection.onAir != nil { state.selection.switches += 1 }
                state.selection.onAir = name
                state.selection.number = if case .source(let index) = next { index } else { nil }
                state.selection.reason = reason.word
            }
            return state.selection.onAir
        }
        recordings.current?.noteEvent("input", "\(name) is on air (\(reason.word)) instead of \(before ?? "nothing")")
        let isLoss = reason == .disconnected || reason == .noVideo || next == .slate
        logger.log(
            level: isLoss ? .warning : reason == .start ? .info : .notice, "another input is on air",
            metadata: ["input": "\(name)", "reason": "\(reason.word)", "before": "\(before ?? "nothing")"])
    }

    private func name(of onAir: SourceSelector.OnAir) -> String {
        if case .source(let index) = onAir { names[index] } else { "slate" }
    }

    /// What is shown; nil while an input has no feed, or the slate is not drawn.
    private func scene(of onAir: SourceSelector.OnAir) -> Scene? {
        state.withLock { state in
            switch onAir {
            case .source(let index):
                state.inputs[index].feed.map { Scene(video: .feed($0), audio: audio?.feed ?? $0) }
            case .slate:
                state.slate.map { Scene(video: $0.video(at: now), audio: audio?.feed) }
            }
        }
    }
}

extension SourceSelector.Reason {
    /// The reason in one word, for the log and the status.
    var word: String { self == .noVideo ? "no_video" : rawValue }
}

extension FeedStatus {
    fileprivate static func + (left: FeedStatus, right: FeedStatus) -> FeedStatus {
        var sum = left
        sum.framesIn += right.framesIn
        sum.framesDropped += right.framesDropped
        sum.framesRepeated += right.framesRepeated
        sum.silentSamples += right.silentSamples
        sum.cutSamples += right.cutSamples
        sum.resyncs += right.resyncs
        return sum
    }
}
