// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Logging
internal import Media
internal import Program
internal import Status
internal import Studio

/// The inputs of a show that is made faster than the clock: files, each of which plays from the show's first frame on, seen or
/// not, and is waited for. All calls may come from any thread.
final class RenderedInputs: ProgramInputs {
    private struct Source {
        let name: String
        let source: any MediaSource
        let feed: SourceFeed
        let bus = Bus()
    }

    let format: VideoFormat
    let canReadAhead = true
    let bus = Bus()
    let director: Director?
    private let sources: [Source]
    private let audio: SeparateAudio?
    private let stingers: [StingerReel]

    /// Opens the files that `configuration` names, and begins its run-down. Blocks until they answer. Throws
    /// ``ChannelFailure``.
    init(
        _ configuration: ChannelConfiguration, listening: ChannelListening, recordings: RecordingSlot,
        clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) {
        var opened: [(name: String, lead: Duration, input: any MediaSource, video: VideoFormat)] = []
        let overlays: Overlays
        var openedAudio: SeparateAudio?
        do throws(ChannelFailure) {
            for source in configuration.sources {
                let (input, video) = try Self.open(source.input, configuration) {
                    (location, options) throws(ChannelFailure) in
                    try listening.open(location, options, clock: clock, logger: logger)
                }
                opened.append((source.name, source.lead, input, video))
            }
            format =
                if let first = opened.first {
                    ChannelInputs.shape(first.video, configuration)
                } else {
                    try StudioInputs.format(of: configuration, listening: listening, logger: logger)
                }
            overlays = try Overlays(configuration.overlays, format: format)
            openedAudio = try SeparateAudio(
                configuration, ofFile: .rendered, listening: listening, clock: clock, logger: logger)
            stingers = try StingerReel.all(configuration.stingers, format: format, isAwaited: true, logger: logger)
        } catch {
            for source in opened { source.input.stop() }
            openedAudio?.stop()
            throw error
        }
        audio = openedAudio
        let format = format
        sources = opened.map { opened in
            let feed = SourceFeed(pacing: .rendered, frameRate: format.frameRate, audio: .program, clock: clock)
            if opened.lead > .zero { feed.begin(at: FrameIndex(format.frameRate.timeBase.ticks(opened.lead))) }
            let source = Source(name: opened.name, source: opened.input, feed: feed)
            source.bus.show(Scene(video: .feed(feed), audio: opened.input.description.hasAudio ? feed : nil))
            return source
        }
        for (source, said) in zip(sources, configuration.sources) {
            source.bus.fader.begin(with: said.audio)
            bus.add(source.bus)
        }
        var heard = sources.map { source in Director.Source(name: source.name, bus: source.bus) { nil } }
        if let audio { heard.append(audio.source(on: bus)) }
        let director = Director(
            bus, sources: heard, audio: configuration.audioChoice,
            slate: SlateScene(SlatePattern.frame(format, lines: ["NO SIGNAL", configuration.name])), format: format,
            scenes: configuration.scenes, overlays: overlays,
            stingers: stingers, recording: { recordings.current },
            playing: RunDownPlaying(isRendered: true, clock: clock, logger: logger))
        self.director = director
        guard let runDown = configuration.runDown else { return }
        if let fault = director.stingerFault(in: runDown) {
            stop()
            throw ChannelFailure(.configuration, "--rundown: \(fault)")
        }
        director.load(runDown)
        do {
            try director.beginRunDown(patience: .zero)
        } catch {
            stop()
            throw ChannelFailure(.configuration, "\(error)")
        }
    }

    private static func open(
        _ location: InputLocation, _ configuration: ChannelConfiguration, _ open: ChannelInputs.Opener
    ) throws(ChannelFailure) -> (any MediaSource, VideoFormat) {
        let source = try open(location, IngestOptions(loop: configuration.loops))
        guard !source.description.isLive else {
            source.stop()
            throw ChannelFailure(
                .configuration, "A show is rendered from files, and \(location) comes at its own pace.")
        }
        guard let video = source.description.video else {
            source.stop()
            throw ChannelFailure(.inputUnreadable, "The input \(location) has no video.")
        }
        return (source, video)
    }

    func start() {
        for source in sources { source.source.start(into: source.feed, video: format, audio: .program) }
        audio?.start()
    }

    func stop() {
        director?.endRunDown()
        for stinger in stingers { stinger.stop() }
        for source in sources { source.source.stop() }
        audio?.stop()
    }

    var statuses: [SourceStatus] { sources.map(\.source.status) + (audio.map { [$0.status] } ?? []) }

    var feedStatuses: (video: FeedStatus, audio: FeedStatus?) {
        let video = sources.map(\.feed.status).reduce(FeedStatus(), +)
        return (video, audio?.feed.status ?? video)
    }

    var selection: SelectionStatus? { nil }
    var failure: String? { statuses.first { $0.state == .failed }.map { $0.lastError ?? "" } }
    package var lastVideoError: String? { statuses.compactMap(\.lastError).first }
}
