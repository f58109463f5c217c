// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Logging
internal import Media
internal import Program
internal import SourceClock
internal import Status
internal import Studio

/// The inputs of a program that is encoded here: its sources, and a separate audio input if there is one. If the
/// program has scenes, a ``Director`` decides which of the sources are visible. All calls may be made on any thread.
///
/// The input of a program without scenes, backups and slate is opened before the program begins, and so is each file of
/// a rendered show (``OpenedSource``). All other sources are opened in parallel, each with its backups and a slate
/// (``SourceInputs``).
final class ProgramInputs: Sendable {
    /// The director, the stingers and the slate, which only a program with scenes has.
    private struct Studio {
        let director: Director
        let stingers: [StingerReel]
        let slate: SlateScene
    }

    /// The program's format.
    let format: VideoFormat
    /// The bus whose frames the program shows.
    let bus: Bus
    /// Whether all inputs can be read ahead of the clock.
    let canReadAhead: Bool
    /// Whether the sources were opened before the program began. If such a source fails, the program fails.
    private let isOpened: Bool
    private let names: [String]
    private let sources: [any ProgramSource]
    private let audio: SeparateAudio?
    private let studio: Studio?

    /// Opens the inputs that `configuration` names, and begins its run-down. Blocks until the program's format is
    /// known. If the sources are opened before the program begins, all of them must have answered. Otherwise one answer
    /// is enough: see ``SourceInputs/native(among:_:clock:)``. Without sources, the run-down's first file determines
    /// the format. Switches between inputs are recorded in the catalogues of `recordings`. Throws ``ChannelFailure``.
    init(
        _ configuration: ChannelConfiguration, listening: any InputOpener, recordings: ChannelRecordings,
        clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) {
        let hasScenes = configuration.hasScenes
        let isRendered = hasScenes && !configuration.isPaced
        let common = hasScenes && !isRendered ? CommonBuffer() : nil
        isOpened = isRendered || !hasScenes && !configuration.hasChoice
        names = configuration.sources.map(\.name)
        let opened =
            isOpened ? try Self.open(configuration, listening: listening, clock: clock, logger: logger) : []
        let chosen =
            isOpened
            ? []
            : configuration.sources.map {
                SourceInputs(
                    $0, of: configuration, common: common, listening: listening, recordings: recordings, clock: clock,
                    logger: logger)
            }
        sources = isOpened ? opened : chosen
        var audio: SeparateAudio?
        do throws(ChannelFailure) {
            let native =
                if let first = opened.first { first.native } else {
                    try Self.native(of: chosen, configuration, listening: listening, clock: clock, logger: logger)
                }
            let format = configuration.shape(native)
            audio = try SeparateAudio(
                configuration, ofFile: isRendered ? .rendered : hasScenes ? .paced : .waits,
                frameRate: format.frameRate, isAwaited: !isOpened, common: common, listening: listening, clock: clock,
                logger: logger)
            for source in sources { try source.prepare(format, audio: hasScenes ? nil : audio?.feed) }
            // If the source was opened before the program, one scene shows it all the time, and the program ends with
            // the source.
            let bus = hasScenes ? Bus() : isOpened ? Bus(sources[0].bus.scene) : sources[0].bus
            studio =
                hasScenes
                ? try Self.studio(
                    of: sources, audio, on: bus, format, configuration, recordings: recordings, clock: clock,
                    logger: logger)
                : nil
            // A program whose audio is live cannot be read ahead, even if its video is a file.
            canReadAhead = isOpened && !opened.contains(where: \.isLive) && audio?.isLive != true
            (self.format, self.bus) = (format, bus)
        } catch {
            for source in sources { source.stop() }
            audio?.stop()
            throw error
        }
        self.audio = audio
        if let runDown = configuration.runDown { try begin(runDown, isRendered: isRendered) }
    }

    /// Closes the inputs, also when the program could not be created, so that no port or device stays occupied.
    deinit { stop() }

    /// Opens the inputs of all configured sources, one after the other. Blocks until all of them answer. Throws
    /// ``ChannelFailure``.
    private static func open(
        _ configuration: ChannelConfiguration, listening: any InputOpener, clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) -> [OpenedSource] {
        var opened: [OpenedSource] = []
        do throws(ChannelFailure) {
            for source in configuration.sources {
                opened.append(
                    try OpenedSource(source, of: configuration, listening: listening, clock: clock, logger: logger))
            }
        } catch {
            for source in opened { source.stop() }
            throw error
        }
        return opened
    }

    /// Returns the format of the first source in `chosen` that answers. Without sources, returns the format of the
    /// run-down's first file, or the usual format if the run-down has no file.
    private static func native(
        of chosen: [SourceInputs], _ configuration: ChannelConfiguration, listening: any InputOpener,
        clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) -> VideoFormat {
        guard chosen.isEmpty else { return try SourceInputs.native(among: chosen, configuration, clock: clock) }
        guard let clip = configuration.runDown?.segments.compactMap(\.clip).first else { return .usual }
        let opening = SourceOpening(logger: logger)
        listening.whenGivenUp { opening.cancel() }
        do {
            let (source, video) = try RunDownClip.open(clip, opening: opening, logger: logger)
            source.stop()
            return video
        } catch {
            throw ChannelFailure(.inputUnreadable, .openInput(clip.path), saidBy: error)
        }
    }

    /// Makes a director that controls `bus`, on which `sources` are shown, and the stingers and the slate of the
    /// program.
    private static func studio(
        of sources: [any ProgramSource], _ audio: SeparateAudio?, on bus: Bus, _ format: VideoFormat,
        _ configuration: ChannelConfiguration, recordings: ChannelRecordings, clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) -> Studio {
        let isRendered = !configuration.isPaced
        let overlays = try Overlays(configuration.overlays, format: format)
        let slateBus = Bus()
        let shown = try Slate(
            configuration.slate ?? .bars, channel: configuration.name, format: format, bus: slateBus, clock: clock,
            logger: logger)
        let slate = SlateScene(shown, on: slateBus, in: bus)
        let stingers = try StingerReel.all(
            configuration.stingers, format: format, isAwaited: isRendered, logger: logger)
        for (configured, source) in zip(configuration.sources, sources) {
            source.bus.fader.begin(with: configured.audio)
            bus.add(source.bus)
        }
        var seen = zip(configuration.sources.map(\.name), sources).map { name, source in
            directed(source, name, isRendered: isRendered)
        }
        if let audio { seen.append(audio.source(on: bus)) }
        let director = Director(
            bus, sources: seen, audio: configuration.audioChoice, slate: slate, format: format,
            scenes: configuration.scenes, overlays: overlays, stingers: stingers,
            recordings: { recordings.current },
            playing: RunDownPlaying(
                directory: isRendered ? nil : configuration.runDownDirectory, isRendered: isRendered, clock: clock,
                logger: logger))
        for (configured, source) in zip(configuration.sources, sources) {
            // If an input decodes only keyframes while it is invisible, it delivers its complete audio even then. So
            // even if such an input is audible, it need not decode all of its frames.
            let heard = configured.selection.unseen != .keyframes
            source.spareUnless { [weak director] in director?.isWanted(configured.name, orHeard: heard) ?? true }
        }
        return Studio(director: director, stingers: stingers, slate: slate)
    }

    /// Makes the description of a source that the director needs.
    private static func directed(_ source: any ProgramSource, _ name: String, isRendered: Bool) -> Director.Source {
        let delivered: @Sendable () -> FeedStatus = { source.feedStatus }
        return Director.Source(
            name: name, bus: source.bus, file: source.file,
            problem: { source.statuses.lazy.compactMap(\.overload).first }, delivered: isRendered ? nil : delivered
        ) {
            source.selection?.onAir
        }
    }

    /// Loads the configured run-down, and begins it.
    private func begin(_ runDown: RunDown, isRendered: Bool) throws(ChannelFailure) {
        guard let director else { return }
        if let fault = director.stingerFault(in: runDown) {
            stop()
            throw ChannelFailure(.configuration, .playRunDown, saying: "--rundown: \(fault)")
        }
        director.load(runDown, isConfigured: !isRendered)
        do throws(Refusal) {
            try director.beginRunDown(patience: isRendered ? .zero : Director.patience)
        } catch {
            stop()
            throw ChannelFailure(.configuration, .playRunDown, saidBy: error)
        }
    }

    /// Begins to read all inputs. Returns at once.
    func start() {
        for source in sources { source.start() }
        audio?.start()
    }

    /// Ends reading all inputs. Returns at once.
    func stop() {
        director?.endRunDown()
        for stinger in studio?.stingers ?? [] { stinger.stop() }
        studio?.slate.stop()
        for source in sources { source.stop() }
        audio?.stop()
    }

    /// Decides which of the sources are visible; nil for a program without scenes.
    var director: Director? { studio?.director }

    /// A snapshot of each input, in the configured order.
    var statuses: [SourceStatus] { sources.flatMap(\.statuses) + (audio.map { [$0.status] } ?? []) }

    /// The counts of video frames and of audio that the feeds delivered; the audio is nil if the program has no audio.
    var feedStatuses: (video: FeedStatus, audio: FeedStatus?) {
        let video = sources.map(\.feedStatus).reduce(FeedStatus(), +)
        let isHeard = studio != nil || sources.contains(where: \.hasAudio)
        return (video, audio?.feed.status ?? (isHeard ? video : nil))
    }

    /// The input that is on air; nil for a program with scenes, and for a source without backups and slate.
    var selection: SelectionStatus? { studio == nil ? sources[0].selection : nil }

    /// The sources of a program that has scenes and is not rendered; nil for any other program.
    var parts: [PartStatus]? {
        guard let director, !isOpened else { return nil }
        let seen = director.seen
        return zip(names, sources).map { name, source in
            PartStatus(
                name: name, isOnAir: seen.contains(name), selection: source.selection, feed: source.feedStatus,
                levels: source.bus.meter.levels)
        }
    }

    /// The error of a source that failed for good; nil if none did, and nil if the sources are reopened after failures.
    var failure: String? {
        isOpened ? statuses.first { $0.state == .failed }.map { $0.lastError ?? "" } : nil
    }

    /// The reason why there is no video: the last error of the first source that has had an error.
    var lastVideoError: String? { sources.lazy.flatMap(\.statuses).compactMap(\.lastError).first }
}
