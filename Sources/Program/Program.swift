// SPDX-License-Identifier: Apache-2.0

internal import Kernels
package import Logging
package import Media
internal import Synchronization

/// The status of a program as operators see it.
package struct ProgramStatus: Sendable, Codable {
    /// The number of frames that were on air.
    package var frames: Int64 = 0
    /// The number of frames that were skipped because the program was too far behind its clock.
    package var skippedFrames: Int64 = 0
    /// How far the program is behind its clock, in seconds.
    package var lagSeconds: Double = 0
    /// The present peak of each audio channel of the program, in dBFS; empty before the first audio.
    package var levels: [Double] = []

    /// The index of the next program frame. Skipped frames count, too.
    package var position: Int64 { frames + skippedFrames }

    /// Creates the status before the first frame.
    package init() {}
}

/// Puts frames on air at a constant frame rate, one for each tick of the program's clock, and audio without gaps.
///
/// ``run()`` blocks the thread that calls it until the program has ended. This thread is called the program's thread.
/// All other methods may be called on any thread.
///
/// ```swift
/// let program = Program(
///     frameRate: FrameRate(25), audio: .program, pacing: .realTime(lead: 0), frameLimit: nil,
///     videoFeed: feed, audioFeed: feed, sink: encoder, logger: logger)
/// let ending = try program.run()
/// ```
package final class Program: Sendable {
    /// What determines the program's speed.
    package enum Pacing: Sendable, Equatable {
        /// The program's clock. The program runs `lead` frames ahead of its clock. If the source can be read ahead,
        /// this hides the encoder's delay.
        case realTime(lead: Int64)
        /// The encoder's speed: the program runs as fast as the encoder can.
        case unpaced
    }

    /// How the program ended.
    package enum Ending: Sendable, Equatable {
        /// The source ended, or the frame limit was reached.
        case finished
        /// ``stop()`` was called.
        case stopped
        /// The source ended before its first frame.
        case empty
    }

    /// The interval at which a program that waits to start checks whether a source shows something.
    private static let step = Duration.milliseconds(5)
    /// How long the start waits for a source of the scene that shows nothing. After that, the program starts as soon as
    /// any source has video.
    private static let patience = Duration.seconds(10)
    private static let latestSkip = Duration.milliseconds(500)
    /// If audio is longer than the video by less than this, the difference is padding of the container and is not
    /// played.
    private static let audioTail = Duration.milliseconds(100)

    private let frameRate: FrameRate
    private let audio: AudioFormat
    private let pacing: Pacing
    private let frameLimit: Int64?
    private let bus: Bus
    private let format: VideoFormat?
    private let sink: any ProgramSink
    private let clock: any MonotonicClock
    private let logger: Logger
    /// A heartbeat that beats at each frame. It rests while the program waits for a source, while the encoder is
    /// flushed, and while the sink waits for a disk.
    package let heartbeat: Heartbeat
    private let counters = Mutex(ProgramStatus())
    private let isStopped = Atomic(false)

    /// Creates a program that shows one feed and plays the audio of the same or another feed. Without `audioFeed`, the
    /// program is silent. With `frameLimit`, the program ends after that many frames.
    package convenience init(
        frameRate: FrameRate, audio: AudioFormat, pacing: Pacing, frameLimit: Int64?, videoFeed: SourceFeed,
        audioFeed: SourceFeed?, sink: any ProgramSink, clock: any MonotonicClock = SystemClock(), logger: Logger
    ) {
        self.init(
            frameRate: frameRate, audio: audio, pacing: pacing, frameLimit: frameLimit,
            bus: Bus(Scene(video: .feed(videoFeed), audio: audioFeed)), sink: sink, clock: clock, logger: logger)
    }

    /// Creates a program that shows the scene of `bus`. With a `format`, the program can compose several sources in one
    /// frame. With `frameLimit`, the program ends after that many frames. While `sink` waits for a disk, it may pause
    /// `heartbeat`, so that the program does not count as stalled.
    package init(
        frameRate: FrameRate, audio: AudioFormat, pacing: Pacing, frameLimit: Int64?, bus: Bus,
        format: VideoFormat? = nil, sink: any ProgramSink, clock: any MonotonicClock = SystemClock(),
        heartbeat: Heartbeat? = nil, logger: Logger
    ) {
        self.heartbeat = heartbeat ?? Heartbeat("program", clock: clock)
        self.frameRate = frameRate
        self.audio = audio
        self.pacing = pacing
        self.frameLimit = frameLimit
        self.bus = bus
        self.format = format
        self.sink = sink
        self.clock = clock
        self.logger = logger
    }

    /// Runs the program to its end and then flushes the encoder. Blocks until this is done. If the program ends before
    /// it starts, the encoder is not flushed. Throws the encoder's errors.
    package func run() throws -> Ending {
        // The compositor is created before the program starts, because its creation takes longer than a frame lasts.
        let compositor = format.map { Compositor($0) }
        guard let (opening, start) = waitForStart() else {
            return isStopped.load(ordering: .relaxed) ? .stopped : .empty
        }
        defer { heartbeat.rest() }
        var air = MixEffect(
            opening, audio: audio, frameSamples: firstSample(of: 1).number, compositor: compositor,
            holdsLast: !bus.isFixed, overlays: bus.overlays)
        var pace = Pace(frameRate: frameRate, pacing: pacing, start: start)
        var followed = follow(opening.mainFeed, besides: nil, &pace.reference)
        tell(pace.reference)
        var ending = Ending.finished
        var index: FrameIndex = 0
        var audioEnd: SampleIndex = 0
        var isHolding = false
        while index.number < frameLimit ?? .max, !bus.isOver {
            heartbeat.beat()
            let skipped = wait(&pace, for: index, air.inForce(at: index))
            index = index + skipped
            bus.announce(index)
            if bus.isOver { break }
            if let cue = bus.takeCue(for: index) { air.begin(cue, at: cue.frame) }
            // The scene's main feed is read for each frame. Even in the same scene, a source may have switched to
            // another input, which has another feed.
            let scene = air.inForce(at: index)
            if scene.mainFeed !== followed {
                followed = follow(scene.mainFeed, besides: followed, &pace.reference)
            }
            let began = now
            let shown = waiting(for: scene) { frame(for: index, &air, isHolding: &isHolding, &pace.reference) }
            guard let frame = shown else { break }
            let next = firstSample(of: index + 1)
            let audio = takeAudio(audioEnd..<next, index, skipped: skipped, &air)
            let taken = now
            try encode(audio)
            bus.tellWatchers(index, audioEnd..<next, air)
            audioEnd = next
            try sink.encode(frame, at: index.number)
            pace.note(scene.waits ? .source : .encoder, took: taken - began)
            pace.note(.encoder, took: now - taken)
            index = index + 1
            counters.withLock { $0.frames += 1 }
        }
        if isStopped.load(ordering: .relaxed) { ending = .stopped }
        if let rest = air.rest(upTo: audioEnd) { try encode(rest) }
        // The encoder is flushed. It may still hold seconds of frames, so this can take long.
        try heartbeat.resting { try sink.finish() }
        return ending
    }

    /// Puts audio on air and measures its level.
    private func encode(_ audio: AudioBuffer) throws {
        guard audio.count > 0 else { return }
        bus.meter.note(audio, gain: 1)
        try sink.encode(audio)
    }

    /// Waits until a scene has something to show. Returns this scene and the moment at which the program begins; nil if
    /// the program ends first, or if the only scene of a program ends without a frame.
    private func waitForStart() -> (Scene, MonotonicInstant)? {
        var gone: Scene?
        var latest: MonotonicInstant?
        while let scene = bus.waitForScene(besides: gone) {
            // A source shows nothing while it is being opened, so the start waits for it. But a source that does not
            // come and has no slate must not delay the start forever.
            if scene.layers.contains(where: { $0.video.resolved == nil }) {
                let end = latest ?? now + Self.patience
                latest = end
                if now >= end, bus.feeds.contains(where: { $0.newestVideo(at: now) != nil }) {
                    return (scene, now)
                }
                clock.sleep(until: now + Self.step)
                continue
            }
            guard let feed = scene.mainFeed else { return (scene, now) }
            let isShown = { [bus] in bus.scene == scene && scene.mainFeed === feed }
            if let moment = feed.waitForFirstFrame(while: isShown) { return (scene, moment) }
            if bus.isFixed { return nil }
            // The feed ended without a frame. If the scene shows this feed directly, another scene must be chosen. If
            // it shows a source with several inputs, the source may change to another input, so the same scene is tried
            // again.
            gone = isShown() && scene.layers.first?.video == .feed(feed) ? scene : nil
            if gone == nil { clock.sleep(until: now + Self.step) }
        }
        return nil
    }

    /// Ends the program after the current frame. Returns at once.
    package func stop() {
        isStopped.store(true, ordering: .relaxed)
        bus.finish()
    }

    /// A snapshot of the status. May be read on any thread, without waiting for the program's thread.
    package var status: ProgramStatus {
        var status = counters.withLock { $0 }
        status.levels = bus.meter.levels
        return status
    }

    private var now: MonotonicInstant { clock.now }

    /// Chooses the source that the program's clock follows: a live feed that was configured for this
    /// (``SourceFeed/leads``), otherwise the visible feed `main` if it is live. If `main` is a file or nil, the clock
    /// continues as before. Returns `main`.
    private func follow(
        _ main: SourceFeed?, besides old: SourceFeed?, _ reference: inout ReferenceClock
    ) -> SourceFeed? {
        if let old, old !== main { old.isReference = false }
        if let leader = leader(beside: main) {
            main?.isReference = false
            reference.follow(Self.number(of: leader))
        } else if let main, case .live(let sourceRate) = main.pacing {
            reference.follow(Self.number(of: main), sourceRate: sourceRate)
            main.isReference = true
        }
        return main
    }

    /// Returns the live feed that the program's clock was configured to follow (``SourceFeed/leads``), unless it is
    /// `main`; otherwise nil. Only the rate of this feed is followed, because its frames are not the main ones.
    private func leader(beside main: SourceFeed?) -> SourceFeed? {
        let leader = bus.feeds.first { $0.leads && $0.isLive }
        return leader === main ? nil : leader
    }

    /// Returns the number by which the program's clock knows the feed.
    private static func number(of feed: SourceFeed) -> Int { Int(bitPattern: ObjectIdentifier(feed)) }

    /// Passes the present state of the program's clock to all feeds.
    private func tell(_ reference: ReferenceClock) {
        let line = reference.line
        for feed in bus.feeds { feed.follow(line) }
    }

    /// Passes the phase of the reference source's frames to all live feeds. Called before these feeds choose their own
    /// frames.
    private func pair(with reference: ReferenceClock) {
        let phase = Duration.nanoseconds(Int64(reference.steadyPhase))
        for feed in bus.feeds where feed.isLive { feed.referencePhase = phase }
    }

    /// Returns the number of the first audio sample of frame `index`. It is rounded down, so that audio is never ahead
    /// of the video.
    private func firstSample(of index: FrameIndex) -> SampleIndex {
        SampleIndex(frameRate.timeBase.rescale(index.number, to: audio.timeBase, rounding: .down))
    }

    /// Waits until frame `index` is due. Returns how many frames must be skipped. Frames are skipped only if the
    /// program is far behind its clock and does not wait for its main source (``Scene/waits``).
    private func wait(_ pace: inout Pace, for index: FrameIndex, _ scene: Scene) -> Int64 {
        guard let moment = pace.moment(of: index) else { return 0 }
        let wanted = max(pace.beginning(due: moment), self.now)
        clock.sleep(until: wanted)
        let now = now
        pace.note(.sleep, took: now - wanted)
        if let leader = leader(beside: scene.mainFeed) {
            // If the clock does not follow `leader` yet, the feed to follow is chosen again: `leader` may have been
            // added after the scene went on air.
            if pace.reference.reference != Self.number(of: leader) {
                _ = follow(scene.mainFeed, besides: nil, &pace.reference)
            }
            pace.reference.note(Self.number(of: leader), due: now, stretch: leader.stretch, now: now)
        }
        pace.reference.advance(to: now)
        tell(pace.reference)
        let lag = now - moment
        var skipped: Int64 = 0
        if !scene.waits, lag > Self.latestSkip {
            skipped = frameRate.frame(at: ProgramInstant.zero + lag, rounding: .down).number
        }
        pace.noteBeginning(at: now, lag: skipped > 0 ? .zero : lag)
        counters.withLock { counters in
            counters.lagSeconds = lag.inSeconds
            counters.skippedFrames += skipped
        }
        if let change = pace.noteLag(lag) { logger.log(level: change.level, "\(change.text)") }
        return skipped
    }

    /// Returns the frame to show as frame `index`; nil if the program's video has ended. If the scene never changes and
    /// its video has ended, this is the last frame again as long as the audio of the same feed continues.
    private func frame(
        for index: FrameIndex, _ air: inout MixEffect, isHolding: inout Bool, _ reference: inout ReferenceClock
    ) -> VideoFrame? {
        pair(with: reference)
        let shown = air.frame(for: index) { feed, choice in
            guard let due = choice.newlyDue else { return }
            reference.note(Self.number(of: feed), due: due, stretch: feed.stretch, now: now)
            pair(with: reference)
        }
        guard shown == nil, bus.isFixed, let feed = air.scene.mainFeed, air.scene.audio == [.feed(feed)],
            !isStopped.load(ordering: .relaxed)
        else { return shown }
        let tail = isHolding ? 0 : audio.timeBase.ticks(Self.audioTail)
        isHolding = feed.hasAudio(beyond: firstSample(of: index), moreThan: tail)
        return isHolding ? feed.lastFrame(for: index) : nil
    }

    /// Calls `body`, which takes frames or audio from the sources of `scene`. If the program waits for one of these
    /// sources, the heartbeat rests meanwhile.
    private func waiting<Result>(for scene: Scene, _ body: () -> Result) -> Result {
        scene.feeds.contains(where: \.isAwaited) ? heartbeat.resting(body) : body()
    }

    /// Mixes the audio of frame `index`, which has the samples of `range`. Also advances the sources that are not
    /// visible, and those that are not audible.
    private func takeAudio(
        _ range: Range<SampleIndex>, _ index: FrameIndex, skipped: Int64, _ air: inout MixEffect
    ) -> AudioBuffer {
        let feeds = bus.isFixed ? [] : bus.feeds
        let count = range.upperBound - range.lowerBound
        let parts = bus.parts(of: air.inForce(at: index), silentFor: Double(count) / Double(audio.sampleRate))
        for feed in feeds where !air.isSeen(feed) {
            if feed.standsUnseen, !air.isHeard(feed, parts) {
                feed.stand(for: 1 + skipped)
            } else {
                feed.skipVideo(index)
            }
        }
        let audio = waiting(for: air.scene) { air.audio(range, parts) }
        for feed in feeds where !air.isTaken(feed) {
            feed.skipAudio(upTo: range.upperBound, count: count)
        }
        return audio
    }
}
