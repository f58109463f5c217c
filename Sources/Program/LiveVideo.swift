// SPDX-License-Identifier: Apache-2.0

internal import Media

/// A live source's video in a feed: the frames that wait, the clock that says when each is due, and how far the source is
/// with what was collected before it was placed.
struct LiveVideo {
    /// What was collected of the source before it was placed.
    private enum Backlog {
        /// The source has not said.
        case unknown
        case decoding(since: Timestamp)
        case decoded
    }

    /// How long the frame before stands while a backlog is decoded.
    private static let patience = Duration.milliseconds(300)
    private static let lateness = Duration.milliseconds(100)
    /// A program that did not look for so long stands still.
    private static let standstill = Duration.milliseconds(100)

    /// The source's clock.
    var times: (any SourceTimes)?
    /// When the source last showed that it has video.
    private var newest: Timestamp?
    /// When a frame was delivered last, and when the program looked for one.
    private var delivered: Timestamp?
    private var looked: Timestamp?
    private var frames: LiveFrames
    private var backlog = Backlog.unknown
    private let frameRate: FrameRate

    /// No frame yet, in a program of `frameRate`.
    init(frameRate: FrameRate) {
        self.frameRate = frameRate
        frames = LiveFrames(frameRate: frameRate)
    }

    /// Frames that were never shown.
    var dropped: Int { frames.dropped }
    /// Frames for which the frame before was shown again.
    var repeated: Int { frames.repeated }
    /// Those of them for which the frame that was due had not come.
    var late: Int { frames.late }
    /// The frame that was chosen last.
    var shown: VideoFrame? { frames.current }
    /// Whether there is nothing to show.
    var isEmpty: Bool { frames.isEmpty }
    /// Whether there are frames that were not shown yet.
    var isWaiting: Bool { frames.isWaiting }
    /// Whether nothing waits to be decoded that was collected before the source was placed.
    var isCaughtUp: Bool { if case .decoded = backlog { true } else { false } }
    /// Whether the program's clock follows the source.
    var isReference: Bool {
        get { frames.isReference }
        set { frames.isReference = newValue }
    }

    /// How far the frames of the source that the program's clock follows lie behind the middle of their ticks.
    var referencePhase: Duration {
        get { frames.referencePhase }
        set { frames.referencePhase = newValue }
    }

    /// Adds a frame that comes at `now`, and pushes out the oldest where more than `limit` wait. Before the program has
    /// begun every frame shows that the source has video.
    mutating func add(_ frame: VideoFrame, limit: Int, at now: Timestamp, hasBegun: Bool) {
        delivered = now
        if !hasBegun { newest = now }
        frames.add(frame, limit: limit)
    }

    /// Notes that the frames that were collected are being decoded at `now`.
    mutating func markBehind(at now: Timestamp) {
        if case .decoding = backlog { return }
        backlog = .decoding(since: now)
    }

    /// Notes that the frames that were collected are decoded.
    mutating func markCaughtUp() { backlog = .decoded }

    /// Before the program begins: when the first frame is due that is not late at `now`; nil if there is no such frame.
    mutating func firstMoment(after now: Timestamp) -> Timestamp? {
        let times = times
        return frames.firstMoment(after: now) { Self.due($0, by: times) }
    }

    /// The frame to show as program frame `index` at `now`; nil before the first.
    mutating func choose(for index: FrameIndex, on line: ClockLine, at now: Timestamp) -> LiveFrames.Choice? {
        looked = now
        // The newest frame of a backlog that is being decoded is not the one that is due: the next would be left out.
        if case .decoding(let start) = backlog, now - start < Self.patience { return current(for: index, on: line) }
        return next(for: index, on: line, at: now, isSeen: true)
    }

    /// Drops, at `now`, what would be shown up to program frame `index`.
    mutating func skip(_ index: FrameIndex, on line: ClockLine, at now: Timestamp) {
        looked = now
        _ = next(for: index, on: line, at: now, isSeen: false)
    }

    private mutating func next(
        for index: FrameIndex, on line: ClockLine, at now: Timestamp, isSeen: Bool
    ) -> LiveFrames.Choice? {
        let times = times
        let choice = frames.choose(for: index, on: line, isSeen: isSeen) { Self.due($0, by: times) }
        if isSignOfLife(choice, for: index, on: line) { newest = now }
        return choice
    }

    /// The frame that was shown last, once more.
    mutating func current(for index: FrameIndex, on line: ClockLine) -> LiveFrames.Choice? {
        frames.choose(for: index, on: line) { _ in nil }
    }

    /// Whether a frame chosen for `index` is a sign that the source has video. A frame that is not new is not a sign,
    /// nor is one that came late: while a source is opened, frames collect that are too old to be shown. A frame is
    /// late if it is due long before its tick, not before it is looked at: the sources of a program that lags are
    /// healthy.
    private func isSignOfLife(_ choice: LiveFrames.Choice?, for index: FrameIndex, on line: ClockLine) -> Bool {
        guard let due = choice?.newlyDue else { return false }
        return frameRate.start(of: index) - line.image(of: due) <= Self.lateness
    }

    /// When the source last had video, as far as is known at `now`; nil before its first frame. While the program is
    /// stopped and sees nothing, what the source delivers counts.
    mutating func newestVideo(at now: Timestamp) -> Timestamp? {
        // The value is kept, because what is seen later would otherwise look new.
        if let last = newest, let delivered, let looked, now - looked > Self.standstill {
            newest = max(last, delivered)
        }
        return newest
    }

    private static func due(_ frame: VideoFrame, by times: (any SourceTimes)?) -> Timestamp? {
        times?.due(Timestamp(frame.pts, in: frame.timeBase), of: .video)
    }
}
