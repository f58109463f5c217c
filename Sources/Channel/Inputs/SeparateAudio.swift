// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Logging
internal import Media
internal import Program
internal import SourceClock
internal import Studio

/// The separate input of a program's audio, for a program whose audio and video have different inputs. It stays open as
/// long as the channel. All calls may be made on any thread.
///
/// A file or device is opened before the program begins. If the program has scenes, backups or a slate, the program
/// does not wait for live audio: it begins, and is silent until the audio arrives.
struct SeparateAudio {
    private enum Source {
        case opened(any MediaSource)
        case awaited(StandbySource)
    }

    let feed: SourceFeed
    private let source: Source

    /// Opens the audio input that `configuration` names; nil if it names no input. Blocks until the input answers.
    /// There is one exception: if `isAwaited` is true, live audio is opened in the background while the program runs.
    /// `ofFile` is the pacing that is used for a file, and `frameRate` is the program's frame rate. A live input uses
    /// the buffer length `common`, which several sources share. Throws ``ChannelFailure``.
    init?(
        _ configuration: ChannelConfiguration, ofFile: SourceFeed.Pacing, frameRate: FrameRate, isAwaited: Bool,
        common: CommonBuffer?, listening: any InputOpener, clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) {
        guard let location = configuration.audioInput else { return nil }
        var options = IngestOptions()
        options.needs = .audio
        options.commonBuffer = common
        let makeFeed = { (pacing: SourceFeed.Pacing) in
            SourceFeed(
                pacing: pacing, frameRate: frameRate, audio: .program,
                leads: location.isReference, hasVideo: false, clock: clock)
        }
        if isAwaited, location.isLiveByNature == true, !location.isDevice {
            let feed = makeFeed(.live(frameRate: nil))
            let standby = StandbySource(name: location.description, logger: logger) { [options] opening, _ in
                let source = try listening.open(
                    location, options, opening: opening, clock: clock, logger: logger)
                guard source.description.hasAudio else {
                    source.stop()
                    throw IngestError.invalidOption(input: location.description, reason: "it has no audio")
                }
                source.start(into: feed, video: nil, audio: .program)
                return StandbySource.Running(source)
            }
            listening.whenGivenUp { standby.stop() }
            standby.start()
            (self.feed, source) = (feed, .awaited(standby))
            return
        }
        options.loop = configuration.loops
        let opened = try listening.open(location, options, opening: nil, clock: clock, logger: logger)
        let attempt = ChannelFailure.Attempt.openAudioInput("\(location)")
        guard opened.description.hasAudio else {
            opened.stop()
            throw ChannelFailure(.inputUnreadable, attempt, because: "it has no audio")
        }
        if !configuration.isPaced, opened.description.isLive {
            opened.stop()
            throw ChannelFailure(
                .configuration, attempt,
                saying: configuration.hasScenes
                    ? "A show is rendered from files, and \(location) comes at its own pace."
                    : "--unpaced is for files: \(location) comes at its own pace. Leave it out.")
        }
        source = .opened(opened)
        feed = makeFeed(opened.description.isLive ? .live(frameRate: nil) : ofFile)
    }

    /// Begins to read the audio input. Returns at once.
    func start() {
        if case .opened(let source) = source { source.start(into: feed, video: nil, audio: .program) }
    }

    /// Ends reading the audio input. Returns at once.
    func stop() {
        switch source {
        case .opened(let source): source.stop()
        case .awaited(let source): source.stop()
        }
    }

    /// Whether the audio arrives in real time.
    var isLive: Bool {
        if case .opened(let source) = source { source.description.isLive } else { true }
    }

    /// A snapshot of the audio input's status.
    var status: SourceStatus {
        switch source {
        case .opened(let source): source.status
        case .awaited(let source): source.report.status
        }
    }

    /// Adds the audio to `bus`, and describes it to the director as a source that is audible and never visible. Used
    /// for a program with scenes.
    func source(on bus: Bus) -> Director.Source {
        let own = Bus()
        own.show(Scene(layers: [], audio: [.feed(feed)]))
        bus.add(own)
        let name = "audio"
        return Director.Source(name: name, bus: own, hasVideo: false) { isComing ? name : nil }
    }

    /// Whether audio is arriving now.
    private var isComing: Bool {
        let status = status
        return status.state == .running && !status.silentTracks.contains(.audio)
    }
}
