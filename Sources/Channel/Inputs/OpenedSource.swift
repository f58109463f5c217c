// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Logging
internal import Media
internal import Program
internal import Status
internal import Studio
internal import Synchronization

/// A source of one input that is opened before the program begins. It is the only source of a program, or a file of a
/// rendered show. If the input is a file, the program waits for the file's frames.
final class OpenedSource: ProgramSource {
    private struct Prepared {
        let feed: SourceFeed
        let format: VideoFormat
        let takesAudio: Bool
    }

    let bus = Bus()
    /// The format of the source's video.
    let native: VideoFormat
    private let configured: ChannelConfiguration.Source
    private let isRendered: Bool
    private let source: any MediaSource
    private let clock: any MonotonicClock
    private let prepared = Mutex<Prepared?>(nil)

    /// Opens the input of `configured`. Blocks until the input answers. Throws ``ChannelFailure``.
    init(
        _ configured: ChannelConfiguration.Source, of configuration: ChannelConfiguration, listening: any InputOpener,
        clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) {
        (self.configured, self.clock, isRendered) = (configured, clock, configuration.hasScenes)
        var options = IngestOptions(
            loop: configuration.loops, size: configuration.size, frameRate: configuration.frameRate)
        options.needs = .video
        // Live audio cannot be played before it arrives. So if the program's separate audio must be earlier (a negative
        // audio offset), the video is delayed instead.
        if !isRendered, let audio = configuration.audioInput, audio.isLiveByNature != false {
            options.delay = max(.zero, .zero - audio.tracks.audioOffset)
        }
        let location = configured.input
        source = try listening.open(location, options, opening: nil, clock: clock, logger: logger)
        guard let video = source.description.video else {
            source.stop()
            throw ChannelFailure(
                .inputUnreadable, .openInput("\(location)"),
                saying: "The input \(location) has no video: give --input something with video.")
        }
        native = video
        if !configuration.isPaced, source.description.isLive {
            source.stop()
            throw ChannelFailure(
                .configuration, .openInput("\(location)"),
                saying: isRendered
                    ? "A show is rendered from files, and \(location) comes at its own pace."
                    : "--unpaced is for files: \(location) comes at its own pace. Leave it out.")
        }
    }

    var isLive: Bool { source.description.isLive }
    var hasAudio: Bool { source.description.hasAudio }
    var statuses: [SourceStatus] { [source.status] }
    var feedStatus: FeedStatus { prepared.withLock { $0?.feed.status } ?? FeedStatus() }
    var selection: SelectionStatus? { nil }
    var file: (any PlayedFile)? { nil }

    func prepare(_ format: VideoFormat, audio: SourceFeed?) throws(ChannelFailure) {
        let pacing: SourceFeed.Pacing =
            isRendered ? .rendered : isLive ? .live(frameRate: native.frameRate) : .waits
        let feed = SourceFeed(
            pacing: pacing, frameRate: format.frameRate, audio: .program, leads: configured.input.isReference,
            clock: clock)
        if configured.lead > .zero {
            feed.begin(at: FrameIndex(format.frameRate.timeBase.ticks(configured.lead)))
        }
        bus.show(Scene(video: .feed(feed), audio: audio ?? (hasAudio ? feed : nil)))
        prepared.withLock { $0 = Prepared(feed: feed, format: format, takesAudio: audio == nil && hasAudio) }
    }

    /// Does nothing, because an opened source is played all the time.
    func spareUnless(_ isWanted: @escaping @Sendable () -> Bool) {}

    func start() {
        guard let prepared = prepared.withLock({ $0 }) else { return }
        source.start(into: prepared.feed, video: prepared.format, audio: prepared.takesAudio ? .program : nil)
    }

    func stop() { source.stop() }
}
