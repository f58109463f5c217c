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

    /// The source's clock.
    var times: (any SourceTimes)?
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

    /// Adds a frame, and pushes out the oldest where more than `limit` wait.
    mutating func add(_ frame: VideoFrame, limit: Int) { frames.add(frame, limit: limit) }

    /// What was collected is being decoded at `now`.
    mutating func markBehind(at now: Timestamp) {
        if case .decoding = backlog { return }
        backlog = .decoding(since: now)
    }

    /// What was collected is decoded.
    mutating func markCaughtUp() { backlog = .decoded }

    /// Before the program begins: when the first frame is due that is not late at `now`; nil if there is none.
    mutating func firstMoment(after now: Timestamp) -> Timestamp? {
        let times = times
        return frames.firstMoment(after: now) { Self.due($0, by: times) }
    }

    /// The frame to show as program frame `index` at `now`; nil before the first.
    mutating func choose(for index: FrameIndex, on line: ClockLine, at now: Timestamp) -> LiveFrames.Choice? {
        // The newest frame of a backlog that is being decoded is not the one that is due: the next would be left out.
        if case .decoding(let start) = backlog, now - start < Self.patience { return current(for: index, on: line) }
        let times = times
        return frames.choose(for: index, on: line) { Self.due($0, by: times) }
    }

    /// Gives up what would be shown up to program frame `index`. Returns as ``choose(for:on:at:)`` does.
    mutating func skip(_ index: FrameIndex, on line: ClockLine) -> LiveFrames.Choice? {
        let times = times
        return frames.choose(for: index, on: line, isSeen: false) { Self.due($0, by: times) }
    }

    /// The frame that was shown last, once more.
    mutating func current(for index: FrameIndex, on line: ClockLine) -> LiveFrames.Choice? {
        frames.choose(for: index, on: line) { _ in nil }
    }

    /// Whether a frame chosen for `index` is a sign that the source has video. One that is not new is none, nor one that
    /// came late: while a source is opened frames are collected that nobody wants to see. Late is what is due long before
    /// its tick, not before it is looked at: a program that lags has healthy sources.
    func isSignOfLife(_ choice: LiveFrames.Choice?, for index: FrameIndex, on line: ClockLine) -> Bool {
        guard let due = choice?.newlyDue else { return false }
        return frameRate.start(of: index) - line.image(of: due) <= Self.lateness
    }

    private static func due(_ frame: VideoFrame, by times: (any SourceTimes)?) -> Timestamp? {
        times?.due(Timestamp(frame.pts, in: frame.timeBase), of: .video)
    }
}
