// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Ingest
internal import Logging
internal import Media
internal import Networking
internal import Program
internal import Synchronization

/// One use of a file in a run-down: opened at its place ahead of time, and kept back until its frame. All calls may come
/// from any thread and return at once.
final class RunDownClip: Sendable {
    /// How far it is.
    enum Condition {
        case opening
        /// Its first frames are there; how many it has, as far as its container says so.
        case ready(frames: Int64?)
        case failed(String)
    }

    private struct State {
        var source: (any MediaSource)?
        var feed: SourceFeed?
        var frames: Int64?
        var failure: String?
        var isStopped = false
    }

    /// Shows the file, once it is open.
    let stage = Stage()
    /// The file, and where it begins.
    let clip: RunDown.Clip
    private let format: VideoFormat
    private let pacing: SourceFeed.Pacing
    private let clock: any MonotonicClock
    private let logger: Logger
    private let opening: SourceOpening
    private let state = Mutex(State())

    /// Opens `clip` for a program of this format, on a queue of its own.
    init(
        _ clip: RunDown.Clip, format: VideoFormat, pacing: SourceFeed.Pacing, clock: any MonotonicClock, logger: Logger
    ) {
        (self.clip, self.format, self.pacing, self.clock, self.logger) = (clip, format, pacing, clock, logger)
        opening = SourceOpening(logger: logger)
        DispatchQueue(label: "relay.rundown.clip").async { [self] in open() }
    }

    var condition: Condition {
        let (feed, frames, failure) = state.withLock { ($0.feed, $0.frames, $0.failure) }
        if let failure { return .failed(failure) }
        guard let feed else { return .opening }
        if feed.isBarren { return .failed("It has no frame at \(DurationText(clip.start)).") }
        return feed.isPrimed ? .ready(frames: frames) : .opening
    }

    /// Why it was over before its end; nil where it was not.
    var fault: String? {
        guard let source = state.withLock({ $0.source }) else { return nil }
        let (status, name) = (source.status, clip.path.split(separator: "/").last ?? "")
        if status.state == .failed { return "\(name): \(status.lastError ?? "It cannot be read on.")" }
        guard source.description.isCutOff else { return nil }
        let length = source.description.duration.map { ": it was \(DurationText($0)) long" } ?? ""
        return "\(name): The file is cut off\(length)."
    }

    /// The program frame behind its last one, once it is known.
    var end: FrameIndex? { feed?.end }

    /// What it delivers into; nil until it is open.
    var feed: SourceFeed? { state.withLock { $0.feed } }

    /// Closes the file.
    func stop() {
        let (source, feed) = state.withLock { state in
            state.isStopped = true
            return (state.source, state.feed)
        }
        opening.cancel()
        source?.stop()
        feed?.close()
    }

    /// Opens `clip` and returns what it looks like. Blocks. Throws where it has no video.
    static func open(
        _ clip: RunDown.Clip, opening: SourceOpening, logger: Logger
    ) throws -> (source: any MediaSource, video: VideoFormat) {
        // A path is one, whatever is written in it.
        var none = OptionList(query: nil, of: "file")
        let location = try InputLocation(address: "file:\(clip.path)", taking: &none)
        var options = IngestOptions()
        options.start = clip.start
        let source = try SourceOpener.open(location, options: options, logger: logger, opening: opening)
        guard let video = source.description.video else {
            source.stop()
            throw IngestError.invalidOption(input: clip.path, reason: "it has no video")
        }
        return (source, video)
    }

    private func open() {
        do {
            let (source, _) = try Self.open(clip, opening: opening, logger: logger)
            let feed = SourceFeed(pacing: pacing, frameRate: format.frameRate, audio: .program, clock: clock)
            feed.park()
            stage.show(Scene(video: .feed(feed), audio: source.description.hasAudio ? feed : nil))
            let isStopped = state.withLock { state in
                (state.source, state.feed) = (source, feed)
                state.frames = source.description.duration.map {
                    format.frameRate.timeBase.ticks(max(.zero, $0 - clip.start))
                }
                return state.isStopped
            }
            if isStopped { return stop() }
            source.start(into: feed, video: format, audio: .program)
        } catch {
            state.withLock { $0.failure = "\(error)" }
        }
    }
}
