// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Logging
internal import Media
internal import Program
internal import SourceClock
internal import Status
internal import Studio

/// The inputs of a program of several sources: each with its backups and a slate of its own, all open side by side, and a
/// ``Director`` that says which of them are seen. All calls may come from any thread.
final class StudioInputs: ProgramInputs {
    let format: VideoFormat
    let canReadAhead = false
    let bus = Bus()
    let director: Director?
    private let sources: [SourceInputs]
    private let names: [String]
    private let audio: SeparateAudio?
    private let stingers: [StingerReel]
    private let slate: SlateScene

    /// Opens the sources that `configuration` names, all at once, and waits until one says what the program looks like: see
    /// ``SourceInputs/decide(among:_:clock:)``. Without sources the run-down's first file says it. Throws
    /// ``ChannelFailure``.
    init(
        _ configuration: ChannelConfiguration, listening: ChannelListening, recordings: RecordingSlot,
        clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) {
        var sources: [SourceInputs] = []
        let common = CommonBuffer()
        do throws(ChannelFailure) {
            for source in configuration.sources {
                sources.append(
                    try SourceInputs(
                        source, of: configuration, common: common, listening: listening, recordings: recordings,
                        clock: clock, logger: logger))
            }
            audio = try SeparateAudio(
                configuration, ofFile: .paced, common: common, listening: listening, clock: clock, logger: logger)
        } catch {
            for source in sources { source.stop() }
            throw error
        }
        self.sources = sources
        names = configuration.sources.map(\.name)
        let overlays: Overlays
        do throws(ChannelFailure) {
            if let first = sources.first {
                try SourceInputs.decide(among: sources, configuration, clock: clock)
                format = first.format
            } else {
                format = try Self.format(of: configuration, listening: listening, logger: logger)
            }
            overlays = try Overlays(configuration.overlays, format: format)
            stingers = try StingerReel.all(configuration.stingers, format: format, logger: logger)
            let slateBus = Bus()
            let shown = try Slate(
                configuration.slate ?? .bars, channel: configuration.name, format: format, bus: slateBus,
                clock: clock, logger: logger)
            slate = SlateScene(shown, on: slateBus, in: bus)
        } catch {
            for source in sources { source.stop() }
            audio?.stop()
            throw error
        }
        for (source, inputs) in zip(configuration.sources, sources) {
            inputs.bus.fader.begin(with: source.audio)
            bus.add(inputs.bus)
        }
        var heard = zip(configuration.sources, sources).map { configuration, inputs in
            Director.Source(
                name: configuration.name, bus: inputs.bus, file: inputs.file,
                problem: { inputs.statuses.lazy.compactMap(\.overload).first },
                delivered: { inputs.feedStatuses.video }
            ) {
                inputs.selection?.onAir
            }
        }
        if let audio { heard.append(audio.source(on: bus)) }
        let director = Director(
            bus, sources: heard, audio: configuration.audioChoice,
            slate: slate, format: format, scenes: configuration.scenes, overlays: overlays, stingers: stingers,
            recording: { recordings.current },
            playing: RunDownPlaying(directory: configuration.runDownDirectory, clock: clock, logger: logger))
        self.director = director
        for (source, inputs) in zip(configuration.sources, sources) {
            // An input that decodes only keyframes while unseen still delivers its audio.
            let heard = source.selection.unseen != .keyframes
            inputs.spareUnless { [weak director] in director?.isWanted(source.name, orHeard: heard) ?? true }
        }
        guard let runDown = configuration.runDown else { return }
        if let fault = director.stingerFault(in: runDown) {
            stop()
            throw ChannelFailure(.configuration, "--rundown: \(fault)")
        }
        director.load(runDown, isConfigured: true)
        do throws(Refusal) {
            try director.beginRunDown(patience: Director.patience)
        } catch {
            stop()
            throw ChannelFailure(.configuration, "\(error)")
        }
    }

    /// What a program of files alone looks like: as the first of them, but for what the flags say.
    static func format(
        of configuration: ChannelConfiguration, listening: ChannelListening, logger: Logger
    ) throws(ChannelFailure) -> VideoFormat {
        var native = VideoFormat(width: 1280, height: 720, frameRate: FrameRate(30), color: .unspecified)
        if let clip = configuration.runDown?.segments.compactMap(\.clip).first {
            let opening = SourceOpening(logger: logger)
            listening.whenGivenUp { opening.cancel() }
            do {
                let (source, video) = try RunDownClip.open(clip, opening: opening, logger: logger)
                source.stop()
                native = video
            } catch {
                throw ChannelFailure(.inputUnreadable, "\(error)")
            }
        }
        return ChannelInputs.shape(native, configuration)
    }

    func start() { audio?.start() }

    func stop() {
        director?.endRunDown()
        for stinger in stingers { stinger.stop() }
        slate.stop()
        for source in sources { source.stop() }
        audio?.stop()
    }

    var statuses: [SourceStatus] {
        sources.flatMap(\.statuses) + (audio.map { [$0.status] } ?? [])
    }

    var feedStatuses: (video: FeedStatus, audio: FeedStatus?) {
        let video = sources.map(\.feedStatuses.video).reduce(FeedStatus(), +)
        return (video, audio?.feed.status ?? video)
    }

    var selection: SelectionStatus? { nil }

    var parts: [PartStatus]? {
        let seen = director?.seen ?? []
        return zip(names, sources).map { name, inputs in
            PartStatus(
                name: name, isOnAir: seen.contains(name), selection: inputs.selection, feed: inputs.feedStatuses.video,
                levels: inputs.bus.meter.levels)
        }
    }

    var failure: String? { nil }
    package var lastVideoError: String? { sources.compactMap(\.lastVideoError).first }
}
