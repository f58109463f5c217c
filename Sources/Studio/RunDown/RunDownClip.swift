// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import Ingest
package import Logging
package import Media
internal import Networking
internal import Program
internal import Synchronization

/// One use of a file in a run-down. The file is opened in advance at its start position, and stays paused until the
/// program frame at which it begins. All calls can be made on any thread. They return at once, unless their comments
/// say that they block.
package final class RunDownClip: Sendable {
    /// The state of the file.
    enum Condition {
        case opening
        /// The first frames are ready. `frames` is the number of program frames from the start position to the end of
        /// the file; nil if the container does not contain the file's length.
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

    /// The bus on which the file is shown once it is open.
    let bus = Bus()
    /// The file, and the position from which it is played.
    let clip: RunDown.Clip
    private let format: VideoFormat
    private let pacing: SourceFeed.Pacing
    private let clock: any MonotonicClock
    private let logger: Logger
    private let opening: SourceOpening
    private let state = Mutex(State())

    /// Opens `clip` for a program of this format, on its own queue.
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

    /// The error because of which the file ended early; nil if it did not end early.
    var fault: String? {
        guard let source = state.withLock({ $0.source }) else { return nil }
        let (status, name) = (source.status, clip.path.split(separator: "/").last ?? "")
        if status.state == .failed { return "\(name): \(status.lastError ?? "It cannot be read on.")" }
        guard source.description.isCutOff else { return nil }
        let length = source.description.duration.map { ": it was \(DurationText($0)) long" } ?? ""
        return "\(name): The file is cut off\(length)."
    }

    /// The first program frame after the file's video and audio have ended; nil until it is known.
    var end: FrameIndex? { feed?.end }

    /// The feed into which the file delivers; nil until the file is open.
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

    /// Opens `clip` and returns its source and format. Blocks. Throws if the file has no video.
    package static func open(
        _ clip: RunDown.Clip, opening: SourceOpening, logger: Logger
    ) throws -> (source: any MediaSource, video: VideoFormat) {
        // The path can contain any characters; options are not read from it.
        var none = OptionList(query: nil, of: "file")
        let location = try InputLocation(address: "file:\(clip.path)", taking: &none)
        var options = IngestOptions()
        options.start = clip.start
        // A playlist file in the run-down's directory must not be able to play files outside of that directory.
        options.isSelfContained = true
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
            state.withLock { $0.source = source }
            let feed = try play(source)
            bus.show(Scene(video: .feed(feed), audio: source.description.hasAudio ? feed : nil))
            let isStopped = state.withLock { state in
                state.feed = feed
                state.frames = source.description.duration.map {
                    format.frameRate.timeBase.ticks(max(.zero, $0 - clip.start))
                }
                return state.isStopped
            }
            if isStopped { stop() }
        } catch {
            state.withLock { $0.failure = "\(error)" }
        }
    }

    /// Begins to read, and returns the feed that contains the frames. If ``RunDown/Clip/stands`` is set, blocks until
    /// it is known whether the file's last frame must be shown instead.
    private func play(_ source: any MediaSource) throws -> SourceFeed {
        let feed = parkedFeed()
        source.start(into: feed, video: format, audio: .program)
        guard clip.stands, clip.start > .zero, isOverAtOnce(feed),
            var frame = try lastFrame(source.description.duration)
        else { return feed }
        feed.close()
        (frame.pts, frame.captions) = (0, [])
        let still = parkedFeed()
        still.deliver(frame)
        for track in [TrackKind.video, .audio] { still.end(track) }
        return still
    }

    private func parkedFeed() -> SourceFeed {
        let feed = SourceFeed(pacing: pacing, frameRate: format.frameRate, audio: .program, clock: clock)
        feed.park()
        return feed
    }

    /// Waits for the first frame of `feed`, and returns whether the feed has ended without a frame.
    private func isOverAtOnce(_ feed: SourceFeed) -> Bool {
        while feed.presentFrame == nil, !feed.isBarren { clock.sleep(until: clock.now + .milliseconds(1)) }
        return feed.isBarren
    }

    /// Returns the last frame of the file; nil if the file has no frame. `length` is the file's length, if the
    /// container contains it. Blocks.
    private func lastFrame(_ length: Duration?) throws -> VideoFrame? {
        // The last frame is near the end, unless audio continues after it: then a longer part of the file is read.
        var rest = Duration.seconds(1)
        while true {
            let start = max(.zero, (length ?? .zero) - rest)
            let frame = try lastFrame(from: start)
            if frame != nil || start == .zero { return frame }
            rest = rest * 10
        }
    }

    private func lastFrame(from start: Duration) throws -> VideoFrame? {
        let another = SourceOpening(logger: logger)
        opening.whenCancelled { another.cancel() }
        let (source, _) = try Self.open(RunDown.Clip(clip.path, start: start), opening: another, logger: logger)
        defer { source.stop() }
        let last = LastFrame()
        source.start(into: last, video: format, audio: nil)
        let frame = last.wait()
        return source.status.state == .failed ? nil : frame
    }
}

/// Receives all media that a file delivers, and keeps the newest frame. All calls can be made on any thread.
final class LastFrame: SourceSink {
    let programTime = ProgramTime()
    private let kept = Mutex<VideoFrame?>(nil)
    private let isOver = DispatchSemaphore(value: 0)

    /// Waits until the file has ended or its source was stopped, and returns the last frame; nil if there was no frame.
    /// Blocks. Call it once.
    func wait() -> VideoFrame? {
        isOver.wait()
        return kept.withLock { $0 }
    }

    func hasRoom(for track: TrackKind) -> Bool { true }
    func waitForRoom(timeout: Duration) {}
    func attach(_ times: any SourceTimes) {}
    func moveAudio(by samples: Int64) {}
    func deliver(_ frame: VideoFrame) { kept.withLock { $0 = frame } }
    func deliver(_ audio: AudioBuffer) {}
    func markStarved(_ track: TrackKind) {}
    func markBehind() {}
    func markCaughtUp() {}
    func end(_ track: TrackKind) { if track == .video { isOver.signal() } }
}
