// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The video of a live source's feed: the waiting frames, the source's clock, which determines when each frame is due,
/// and the state of the backlog. The backlog is the video that was collected while the source was opened, before its
/// times could be mapped to our clock.
struct LiveVideo {
    /// How far the backlog has been decoded.
    private enum Backlog {
        /// The source has not reported yet whether there is a backlog.
        case unknown
        case decoding(since: MonotonicInstant)
        case decoded
    }

    /// While the backlog is being decoded, the frame that was shown last is repeated for at most this long.
    private static let patience = Duration.milliseconds(300)
    private static let lateness = Duration.milliseconds(100)
    /// If the program has not requested a frame for this long, the program counts as blocked.
    private static let standstill = Duration.milliseconds(100)

    /// The source's clock, which determines when each frame is due.
    var times: (any SourceTimes)?
    /// The last moment at which it was certain that the source sends video.
    private var newest: MonotonicInstant?
    /// When the source delivered its last frame, and when the program last requested a frame.
    private var delivered: MonotonicInstant?
    private var looked: MonotonicInstant?
    private var frames: LiveFrames
    private var backlog = Backlog.unknown
    private let frameRate: FrameRate

    /// Creates the video of a source that has no frames yet, in a program with the frame rate `frameRate`.
    init(frameRate: FrameRate) {
        self.frameRate = frameRate
        frames = LiveFrames(frameRate: frameRate)
    }

    /// The number of frames that were never shown.
    var dropped: Int { frames.dropped }
    /// How often the frame that was shown last was shown again for a program frame.
    var repeated: Int { frames.repeated }
    /// How often the frame that was shown last was shown again because the frame that was due had not arrived.
    var late: Int { frames.late }
    /// The frame that was chosen last; nil before the first one.
    var shown: VideoFrame? { frames.current }
    /// Whether there is no frame to show: none waits, and none was chosen before.
    var isEmpty: Bool { frames.isEmpty }
    /// Whether frames wait to be shown.
    var isWaiting: Bool { frames.isWaiting }
    /// Whether the whole backlog has been decoded.
    var isCaughtUp: Bool { if case .decoded = backlog { true } else { false } }
    /// Whether the program's clock follows this source.
    var isReference: Bool {
        get { frames.isReference }
        set { frames.isReference = newValue }
    }

    /// How much later than the beginnings of their program frames the frames of the reference source are due; see
    /// ``LiveFrames/referencePhase``.
    var referencePhase: Duration {
        get { frames.referencePhase }
        set { frames.referencePhase = newValue }
    }

    /// Adds a frame that arrives at `now`. Drops the oldest waiting frames if too many wait; `limit` is the maximum
    /// number. Before the program has begun, every new frame proves that the source sends video.
    mutating func add(_ frame: VideoFrame, limit: Int, at now: MonotonicInstant, hasBegun: Bool) {
        delivered = now
        if !hasBegun { newest = now }
        frames.add(frame, limit: limit)
    }

    /// Records that the source is decoding a backlog at `now`.
    mutating func markBehind(at now: MonotonicInstant) {
        if case .decoding = backlog { return }
        backlog = .decoding(since: now)
    }

    /// Records that the whole backlog has been decoded.
    mutating func markCaughtUp() { backlog = .decoded }

    /// Returns when the program should begin: the due time of the first waiting frame that still leaves the program
    /// time to prepare at `now`, see ``LiveFrames/firstMoment(after:due:)``; nil without such a frame.
    mutating func firstMoment(after now: MonotonicInstant) -> MonotonicInstant? {
        let times = times
        return frames.firstMoment(after: now) { Self.due($0, by: times) }
    }

    /// Chooses the frame to show as program frame `index`, at `now`; nil if no frame has arrived yet.
    mutating func choose(for index: FrameIndex, on line: ProgramClockLine, at now: MonotonicInstant) -> LiveFrames
        .Choice?
    {
        looked = now
        // While the backlog is being decoded, the frame that was chosen last is repeated. The frame that is due may not
        // have been decoded yet, and would be skipped if an earlier frame of the backlog were chosen now.
        if case .decoding(let start) = backlog, now - start < Self.patience { return current(for: index, on: line) }
        return next(for: index, on: line, at: now, isSeen: true)
    }

    /// Advances to program frame `index` at `now` without showing a frame.
    mutating func skip(_ index: FrameIndex, on line: ProgramClockLine, at now: MonotonicInstant) {
        looked = now
        _ = next(for: index, on: line, at: now, isSeen: false)
    }

    private mutating func next(
        for index: FrameIndex, on line: ProgramClockLine, at now: MonotonicInstant, isSeen: Bool
    ) -> LiveFrames.Choice? {
        let times = times
        let choice = frames.choose(for: index, on: line, isSeen: isSeen) { Self.due($0, by: times) }
        if isSignOfLife(choice, for: index, on: line) { newest = now }
        return choice
    }

    /// Chooses for program frame `index` the frame that was chosen last, as a repetition.
    mutating func current(for index: FrameIndex, on line: ProgramClockLine) -> LiveFrames.Choice? {
        frames.choose(for: index, on: line) { _ in nil }
    }

    /// Whether the frame that was chosen for program frame `index` proves that the source sends video. A repeated frame
    /// does not prove this. A late frame does not prove it either, because frames that are too old collect while a
    /// source is opened. A frame is late if it is due long before its program frame begins. When the program requests
    /// the frame does not matter, because the sources of a program that lags behind its clock are healthy.
    private func isSignOfLife(_ choice: LiveFrames.Choice?, for index: FrameIndex, on line: ProgramClockLine) -> Bool {
        guard let due = choice?.newlyDue else { return false }
        return frameRate.start(of: index) - line.image(of: due) <= Self.lateness
    }

    /// When the source last sent video, as far as this is known at `now`; nil before its first frame. While the program
    /// is blocked and requests no frames, each frame that the source delivers counts.
    mutating func newestVideo(at now: MonotonicInstant) -> MonotonicInstant? {
        // ``newest`` is raised and stored, so that the result never goes back when the program requests frames again.
        if let last = newest, let delivered, let looked, now - looked > Self.standstill {
            newest = max(last, delivered)
        }
        return newest
    }

    private static func due(_ frame: VideoFrame, by times: (any SourceTimes)?) -> MonotonicInstant? {
        times?.due(Timestamp(frame.pts, in: frame.timeBase), of: .video)
    }
}
