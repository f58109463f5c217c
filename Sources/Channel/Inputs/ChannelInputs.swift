// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import LibAV
internal import Logging
package import Media
internal import Program
internal import Status

/// The opened inputs of a channel, and the feeds between them and its program.
///
/// All calls may come from any thread.
package struct ChannelInputs: ProgramInputs {
    /// The program's shape: the video input's own, but for what the configuration says.
    let format: VideoFormat
    /// Where the program's video comes from.
    let videoFeed: SourceFeed
    /// Where the program's audio comes from; nil for silence.
    let audioFeed: SourceFeed?
    let bus: Bus
    /// Whether all inputs can be read ahead of the clock.
    let canReadAhead: Bool
    private let sources: [any MediaSource]

    /// Opens the inputs that `configuration` names. Blocks until they answer. Throws ``ChannelFailure``.
    init(
        _ configuration: ChannelConfiguration, listening: ChannelListening, clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) {
        let open = { (location: InputLocation, options: IngestOptions) throws(ChannelFailure) in
            try listening.open(location, options, clock: clock, logger: logger)
        }
        let video = try Self.openVideo(configuration, open)
        let audio = try Self.openAudio(configuration, open)
        format = Self.shape(video.format, configuration)
        let isLive = video.source.description.isLive
        // Live audio cannot be read ahead, wherever the video comes from.
        canReadAhead = !isLive && audio?.description.isLive != true
        videoFeed = SourceFeed(
            pacing: Self.pacing(video.source.description), frameRate: format.frameRate, audio: .program,
            leads: configuration.sources[0].input.isReference, clock: clock)
        if let audio {
            audioFeed = SourceFeed(
                pacing: Self.pacing(audio.description), frameRate: format.frameRate, audio: .program,
                leads: configuration.audioInput?.isReference == true, clock: clock)
        } else {
            audioFeed = video.source.description.hasAudio ? videoFeed : nil
        }
        bus = Bus(Scene(video: .feed(videoFeed), audio: audioFeed))
        sources = [video.source] + (audio.map { [$0] } ?? [])
    }

    /// Begins to read. Returns at once.
    func start() {
        sources[0].start(into: videoFeed, video: format, audio: audioFeed === videoFeed ? .program : nil)
        if sources.count > 1, let audioFeed { sources[1].start(into: audioFeed, video: nil, audio: .program) }
    }

    /// Ends reading. Returns at once.
    func stop() {
        for source in sources { source.stop() }
    }

    var feedStatuses: (video: FeedStatus, audio: FeedStatus?) { (videoFeed.status, audioFeed?.status) }
    var selection: SelectionStatus? { nil }

    /// A snapshot of each source: the video's first.
    var statuses: [SourceStatus] { sources.map(\.status) }

    /// Why a source failed, in its own words; nil if none did.
    var failure: String? {
        statuses.first { $0.state == .failed }.map { $0.lastError ?? "" }
    }

    /// Why there is no video: the last error of its source, if it had one.
    var lastVideoError: String? { sources[0].status.lastError }

    /// Opens an input. Blocks until it answers.
    typealias Opener = (InputLocation, IngestOptions) throws(ChannelFailure) -> any MediaSource

    private static func openVideo(
        _ configuration: ChannelConfiguration, _ open: Opener
    ) throws(ChannelFailure) -> (source: any MediaSource, format: VideoFormat) {
        var options = IngestOptions(
            loop: configuration.loops, size: configuration.size, frameRate: configuration.frameRate)
        // What is live cannot be played before it comes: where audio is to be earlier, video is later.
        if let audio = configuration.audioInput, audio.isLiveByNature != false {
            options.delay = max(.zero, .zero - audio.tracks.audioOffset)
        }
        let location = configuration.sources[0].input
        let source = try open(location, options)
        guard let format = source.description.video else {
            throw ChannelFailure(
                .inputUnreadable,
                "The input \(location) has no video: give --input something with video.")
        }
        if !configuration.isPaced, source.description.isLive {
            throw ChannelFailure(
                .configuration, "--unpaced is for files: \(location) comes at its own pace. Leave it out.")
        }
        return (source, format)
    }

    /// Opens the audio input, if there is one. Blocks until it answers.
    static func openAudio(
        _ configuration: ChannelConfiguration, _ open: Opener
    ) throws(ChannelFailure) -> (any MediaSource)? {
        guard let location = configuration.audioInput else { return nil }
        let source = try open(location, IngestOptions(loop: configuration.loops))
        guard source.description.hasAudio else {
            throw ChannelFailure(.inputUnreadable, "The audio input \(location) has no audio.")
        }
        return source
    }

    /// The input's own shape, but for what the flags say. A program of a given size has square pixels. What the input
    /// leaves unspecified of its color is that of the program's size. A program of several sources is of standard dynamic
    /// range, which each of them can be made.
    package static func shape(_ native: VideoFormat, _ configuration: ChannelConfiguration) -> VideoFormat {
        var format = native
        if let size = configuration.size, size != FrameSize(width: native.width, height: native.height) {
            format.width = size.width
            format.height = size.height
            format.sampleAspectRatio = .square
        }
        if let frameRate = configuration.frameRate { format.frameRate = frameRate }
        let isOfSeveral = configuration.sources.count > 1 || configuration.runDownDirectory != nil
        let color = isOfSeveral && native.color.isHDR ? .unspecified : native.color
        format.color = color.resolved(width: format.width, height: format.height)
        return format
    }

    private static func pacing(_ source: SourceDescription) -> SourceFeed.Pacing {
        source.isLive ? .live(frameRate: source.video?.frameRate) : .waits
    }
}
