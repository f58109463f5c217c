// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Logging
internal import Media
internal import Program

/// The audio input of a channel whose video inputs are switched: open for as long as the channel is. All calls may come
/// from any thread.
struct SeparateAudio {
    let source: any MediaSource
    let feed: SourceFeed

    /// Opens the audio input that `configuration` names; nil if there is none. Blocks until it answers. A file is
    /// paced as `ofFile` says. Throws ``RelayFailure``.
    init?(
        _ configuration: ChannelConfiguration, ofFile: SourceFeed.Pacing, listening: ChannelListening,
        clock: any MonotonicClock, logger: Logger
    ) throws(RelayFailure) {
        let source = try ChannelInputs.openAudio(configuration) { (location, options) throws(RelayFailure) in
            try listening.open(location, options, clock: clock, logger: logger)
        }
        guard let source else { return nil }
        self.source = source
        feed = SourceFeed(
            pacing: source.description.isLive ? .live(frameRate: nil) : ofFile,
            frameRate: configuration.frameRate ?? FrameRate(25), audio: .program,
            leads: configuration.audioInput?.isReference == true, hasVideo: false, clock: clock)
    }

    /// Begins to read. Returns at once.
    func start() { source.start(into: feed, video: nil, audio: .program) }

    /// Lets it play along on `stage`, as a source that is heard and never seen. For a program of several sources.
    func source(on stage: Stage) -> Director.Source {
        let own = Stage()
        own.show(Scene(layers: [], audio: [.feed(feed)]))
        stage.add(own)
        return Director.Source(name: "audio", stage: own, hasVideo: false) { nil }
    }
}
