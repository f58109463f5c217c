// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The video of a live source's feed: the waiting frames, the clock that determines when each frame is due, and the
/// state of the backlog. The backlog consists of the frames that were collected before the source had a clock mapping.
struct LiveVideo {
    /// The state of the backlog.
    private enum Backlog {
        /// The source has not reported whether there is a backlog.
        case unknown
        case decoding(since: Timestamp)
        case decoded
    }

    /// How long the previous frame is repeated while a backlog is decoded.
    private static let patience = Duration.milliseconds(300)
    private static let lateness = Duration.milliseconds(100)
    /// If the program has not requested a frame for this long, it is blocked.
    private static let standstill = Duration.milliseconds(100)

    /// The source's clock, which determines when frames are due.
    var times: (any SourceTimes)?
    /// When the source last proved that it sends video.
    private var newest: Timestamp?
    /// When the last frame was delivered, and when the program last requested one.
    private var delivered: Timestamp?
    private var looked: Timestamp?
    private var frames: LiveFrames
    private var backlog = Backlog.unknown
    private let frameRate: FrameRate

    /// The video of a source that has no frames yet, in a program with the frame rate `frameRate`.
    init(frameRate: FrameRate) {
        self.frameRate = frameRate
        frames = LiveFrames(frameRate: frameRate)
    }

    /// The number of frames that were never shown.
    var dropped: Int { frames.dropped }
    /// The number of times the previous frame was shown again.
    var repeated: Int { frames.repeated }
    /// The number of repetitions that happened because the frame that was due had not arrived.
    var late: Int { frames.late }
    /// The frame that was last chosen.
    var shown: VideoFrame? { frames.current }
    /// Whether there is nothing to show.
    var isEmpty: Bool { frames.isEmpty }
    /// Whether there are frames that have not been shown yet.
    var isWaiting: Bool { frames.isWaiting }
    /// Whether the backlog is decoded.
    var isCaughtUp: Bool { if case .decoded = backlog { true } else { false } }
    /// Whether the program's clock follows the source.
    var isReference: Bool {
        get { frames.isReference }
        set { frames.isReference = newValue }
    }

    /// How far the frames of the reference source are after the middle of their program frames.
    var referencePhase: Duration {
        get { frames.referencePhase }
        set { frames.referencePhase = newValue }
    }

    /// Adds a frame that arrives at `now`, and drops the oldest frame if more than `limit` wait. Before the program has
    /// begun, every frame proves that the source sends video.
    mutating func add(_ frame: VideoFrame, limit: Int, at now: Timestamp, hasBegun: Bool) {
        delivered = now
        if !hasBegun { newest = now }
        frames.add(frame, limit: limit)
    }

    /// Records that a backlog is being decoded at `now`.
    mutating func markBehind(at now: Timestamp) {
        if case .decoding = backlog { return }
        backlog = .decoding(since: now)
    }

    /// Records that the backlog is decoded.
    mutating func markCaughtUp() { backlog = .decoded }

    /// Before the program begins: returns the time at which the first frame is due that is not late at `now`; nil if
    /// there is no such frame.
    mutating func firstMoment(after now: Timestamp) -> Timestamp? {
        let times = times
        return frames.firstMoment(after: now) { Self.due($0, by: times) }
    }

    /// Returns the frame to show as program frame `index` at `now`; nil before the first frame.
    mutating func choose(for index: FrameIndex, on line: ClockLine, at now: Timestamp) -> LiveFrames.Choice? {
        looked = now
        // While a backlog is decoded, its newest frame is not the one that is due. If it were chosen, the next frame
        // would be skipped.
        if case .decoding(let start) = backlog, now - start < Self.patience { return current(for: index, on: line) }
        return next(for: index, on: line, at: now, isSeen: true)
    }

    /// Drops the frames up to program frame `index`, at `now`.
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

    /// Returns the last frame again.
    mutating func current(for index: FrameIndex, on line: ClockLine) -> LiveFrames.Choice? {
        frames.choose(for: index, on: line) { _ in nil }
    }

    /// Whether the frame that was chosen for `index` proves that the source sends video. A repeated frame does not
    /// prove it. A late frame does not prove it either, because frames that are too old to be shown collect while a
    /// source is opened. A frame is late if it is due long before its program frame begins. It does not matter when the
    /// program requests it, because the sources of a program that lags are healthy.
    private func isSignOfLife(_ choice: LiveFrames.Choice?, for index: FrameIndex, on line: ClockLine) -> Bool {
        guard let due = choice?.newlyDue else { return false }
        return frameRate.start(of: index) - line.image(of: due) <= Self.lateness
    }

    /// When the source last sent video, as far as is known at `now`; nil before its first frame. While the program is
    /// blocked and shows nothing, delivered frames count.
    mutating func newestVideo(at now: Timestamp) -> Timestamp? {
        // The value is stored, because otherwise frames that are chosen later would count as new.
        if let last = newest, let delivered, let looked, now - looked > Self.standstill {
            newest = max(last, delivered)
        }
        return newest
    }

    private static func due(_ frame: VideoFrame, by times: (any SourceTimes)?) -> Timestamp? {
        times?.due(Timestamp(frame.pts, in: frame.timeBase), of: .video)
    }
}
