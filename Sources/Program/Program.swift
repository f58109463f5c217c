// SPDX-License-Identifier: Apache-2.0

public import Logging
public import Media
internal import Synchronization

/// What an operator sees of the program.
public struct ProgramStatus: Sendable, Codable {
    /// Frames put on air.
    public var frames: Int64 = 0
    /// Frames skipped because the encoder could not keep up with a live source.
    public var skippedFrames: Int64 = 0
    /// How far the program is behind its clock, in seconds.
    public var lagSeconds: Double = 0

    /// Nothing on air yet.
    public init() {}
}

/// What goes on air: one frame for each tick of a constant frame rate, and audio without a hole.
///
/// ``run()`` occupies one thread, the program's, from the first frame to the last. Everything else may be called on any
/// thread.
public final class Program: Sendable {
    /// What drives the program.
    public enum Pacing: Sendable, Equatable {
        /// The clock. The program runs `lead` frames ahead of it, which hides the encoder's delay where the source can
        /// be read ahead.
        case realTime(lead: Int64)
        /// The encoder, as fast as it goes.
        case unpaced
    }

    /// How the program ended.
    public enum Ending: Sendable, Equatable {
        /// The source was over, or the frame limit was reached.
        case finished
        /// ``stop()`` was called.
        case stopped
        /// The source ended before its first frame.
        case empty
    }

    private static let latestSkip = Duration.milliseconds(500)
    /// Audio that outlasts the video by less than this is the container's padding.
    private static let audioTail = Duration.milliseconds(100)

    private let frameRate: FrameRate
    private let audio: AudioFormat
    private let pacing: Pacing
    private let frameLimit: Int64?
    private let videoFeed: SourceFeed
    private let audioFeed: SourceFeed?
    private let sink: any ProgramSink
    private let clock: any MonotonicClock
    private let logger: Logger
    private let counters = Mutex(ProgramStatus())
    private let isStopped = Atomic(false)

    /// A program that takes its video from one feed and its audio from the same or another; silence without one.
    /// `frameLimit` ends it after that many frames.
    public init(
        frameRate: FrameRate, audio: AudioFormat, pacing: Pacing, frameLimit: Int64?, videoFeed: SourceFeed,
        audioFeed: SourceFeed?, sink: any ProgramSink, clock: any MonotonicClock = SystemClock(), logger: Logger
    ) {
        self.frameRate = frameRate
        self.audio = audio
        self.pacing = pacing
        self.frameLimit = frameLimit
        self.videoFeed = videoFeed
        self.audioFeed = audioFeed
        self.sink = sink
        self.clock = clock
        self.logger = logger
    }

    /// Runs the program to its end and flushes the encoder. Blocks; throws what the encoder throws.
    public func run() throws -> Ending {
        guard let first = videoFeed.waitForFirstFrame() else {
            return isStopped.load(ordering: .relaxed) ? .stopped : .empty
        }
        var pace = Pace(frameRate: frameRate, pacing: pacing, start: first)
        if case .live(let sourceRate) = videoFeed.pacing {
            pace.reference.follow(Self.videoSource, sourceRate: sourceRate)
            videoFeed.isReference = true
        }
        tell(pace.reference)
        var ending = Ending.finished
        var index: FrameIndex = 0
        var audioEnd: SampleIndex = 0
        var isHolding = false
        while index.number < frameLimit ?? .max {
            if isStopped.load(ordering: .relaxed) {
                ending = .stopped
                break
            }
            index = index + wait(&pace, for: index)
            guard let frame = frame(for: index, isHolding: &isHolding, &pace.reference) else {
                ending = isStopped.load(ordering: .relaxed) ? .stopped : .finished
                break
            }
            let next = firstSample(of: index + 1)
            try sink.encode(takeAudio(audioEnd..<next))
            audioEnd = next
            try sink.encode(frame, at: index.number)
            index = index + 1
            counters.withLock { $0.frames += 1 }
        }
        try sink.finish()
        return ending
    }

    /// Ends the program after the frame under way. Returns at once.
    public func stop() {
        isStopped.store(true, ordering: .relaxed)
        videoFeed.close()
        audioFeed?.close()
    }

    /// A snapshot for status and metrics. May be read on any thread, without waiting for the program.
    public var status: ProgramStatus { counters.withLock { $0 } }

    private var now: Timestamp { Timestamp(nanoseconds: clock.now) }

    /// The number of the video's source for the program's clock.
    private static let videoSource = 0

    /// Tells the feeds of live sources how the program's clock runs.
    private func tell(_ reference: ReferenceClock) {
        videoFeed.follow(reference.line)
        if let audioFeed, audioFeed !== videoFeed { audioFeed.follow(reference.line) }
    }

    /// The first sample of frame `index`. Rounded down, so that audio never runs ahead of the video.
    private func firstSample(of index: FrameIndex) -> SampleIndex {
        SampleIndex(frameRate.timeBase.rescale(index.number, to: audio.timeBase, rounding: .down))
    }

    /// Waits for the moment of frame `index`, and returns how many frames must be skipped: none, unless the source is
    /// live and the program has fallen far behind.
    private func wait(_ pace: inout Pace, for index: FrameIndex) -> Int64 {
        guard let moment = pace.moment(of: index) else { return 0 }
        clock.sleep(until: moment.nanoseconds)
        let now = now
        pace.reference.advance(to: now)
        tell(pace.reference)
        let lag = now - moment
        var skipped: Int64 = 0
        if videoFeed.pacing != .waits, lag > Self.latestSkip {
            skipped = frameRate.frame(at: .zero + lag, rounding: .down).number
        }
        counters.withLock { counters in
            counters.lagSeconds = lag.inSeconds
            counters.skippedFrames += skipped
        }
        if let change = pace.noteLag(lag) { logger.log(level: change.level, "\(change.text)") }
        return skipped
    }

    /// What to show as frame `index`; when the source has no more, its last frame for as long as audio goes on.
    private func frame(
        for index: FrameIndex, isHolding: inout Bool, _ reference: inout ReferenceClock
    ) -> VideoFrame? {
        if let choice = videoFeed.frame(for: index) {
            if let due = choice.newlyDue {
                reference.note(Self.videoSource, due: due, stretch: videoFeed.stretch, now: now)
            }
            return choice.frame
        }
        guard audioFeed === videoFeed, !isStopped.load(ordering: .relaxed) else { return nil }
        let tail = isHolding ? 0 : audio.timeBase.ticks(Self.audioTail)
        isHolding = videoFeed.hasAudio(beyond: firstSample(of: index), moreThan: tail)
        return isHolding ? videoFeed.lastFrame(for: index) : nil
    }

    private func takeAudio(_ range: Range<SampleIndex>) -> AudioBuffer {
        let (first, end) = (range.lowerBound, range.upperBound)
        return audioFeed?.audio(upTo: end)
            ?? .silence(at: first.number, count: Int(end - first), format: audio)
    }
}
