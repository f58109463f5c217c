// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides where an HLS output is cut. Times are nanoseconds of the program.
///
/// A segment ends at a keyframe, and at the last one before it would become too long: when waiting for another could make
/// it longer than the target, judged by the longest GOP seen. So an IDR frame that somebody else asked for shortens a
/// segment and never lengthens one. Where audio comes and no frame does, a segment ends by the audio's time, so that the
/// playlist still grows by a segment within 1.5 target durations (RFC 8216, 6.2.1).
struct HLSCutter {
    /// What to do with a packet.
    enum Decision: Equatable {
        /// It belongs to the segment under way.
        case goOn
        /// It is a keyframe inside of the segment: what came before it can be written.
        case fragment
        /// A segment begins with it. The one before lasted `duration`, and if `isDiscontinuous`, nothing came for a while.
        case cut(duration: Int64, isDiscontinuous: Bool)
        /// As ``fragment``, but it is no keyframe, and none came in time: one is needed.
        case fragmentAndAsk
    }

    /// How much later than expected a keyframe of a variable rate comes before frames count as missing.
    private static let variableTolerance: Int64 = 500_000_000
    /// For so much audio a frame is waited for. A segment that ends behind it still rounds to the target duration, which
    /// half a second more would not (RFC 8216, 4.3.3.1).
    private static let patience: Int64 = 350_000_000
    /// So many frames, and half a second, may be missing before one that is decoded ahead of them.
    private static let reordered: Int64 = 4

    private let target: Int64
    /// Whether frames follow each other at a constant rate.
    private let isConstant: Bool
    /// When the segment under way begins; nil before the first keyframe.
    private(set) var start: Int64?
    /// When what the segment has of either track ends.
    private var end: Int64 = 0
    /// Whether the segment has a frame.
    private var hasFrames = false
    /// When the latest frame begins, and when it ends.
    private var (newestFrame, framesEnd): (Int64, Int64) = (0, 0)
    /// When the latest audio begins, and the latest that had come when a frame came last.
    private var (newestAudio, audioAtFrame): (Int64?, Int64?)
    /// The last keyframe that was followed by all of its frames so far; nil if it is not known.
    private var lastKeyframe: Int64?
    private var longestGOP: Int64 = 0
    /// When a keyframe was asked for last, in this segment.
    private var lastAsked: Int64?

    /// A cutter for segments of `target`. `isConstant` says that a frame which comes later than the one before lasts is
    /// missing; at a variable rate that is usual.
    init(target: Duration, isConstant: Bool = true) {
        (self.target, self.isConstant) = (target.inNanoseconds, isConstant)
    }

    /// What the segment under way has lasted: its frames, and audio where that comes alone.
    var elapsed: Int64 {
        let shown = hasFrames && end - framesEnd <= Self.patience ? framesEnd : end
        return start.map { max(0, shown - $0) } ?? 0
    }

    /// Takes the next frame in decoding order, which lasts `frame`. The first must be a keyframe.
    mutating func video(pts: Int64, frame: Int64, isKeyframe: Bool) -> Decision {
        defer { note(pts, frame, isKeyframe) }
        guard start != nil else {
            begin(at: pts)
            return .goOn
        }
        // Before a keyframe all frames of the segment are there, so `end` is where it should be, to half a frame. Before
        // another frame those may be missing that are shown before it.
        let exact = isConstant ? frame / 2 : Self.variableTolerance
        let tolerance = isKeyframe ? exact : Self.variableTolerance + Self.reordered * frame
        if pts - end > tolerance { return cutAtGap(before: pts) }
        let isBehindHole = pts - framesEnd > tolerance
        guard isKeyframe || isBehindHole else { return followed(pts: pts, frame: frame) }
        // The length of a GOP that lacks frames says nothing of the next one.
        if isBehindHole { lastKeyframe = nil }
        if let lastKeyframe { longestGOP = max(longestGOP, pts - lastKeyframe) }
        return joined(pts: pts, frame: frame) ?? (isKeyframe ? .fragment : .goOn)
    }

    /// A segment could begin at `pts`: it does, if waiting for the next keyframe could make this one too long.
    private mutating func joined(pts: Int64, frame: Int64) -> Decision? {
        let begun = start ?? pts
        // Behind a gap audio may come just before its frame, and is no segment of its own.
        let limit = hasFrames ? target + frame / 2 : target + Self.patience
        guard pts - begun + longestGOP > limit else { return nil }
        begin(at: pts)
        return .cut(duration: pts - begun, isDiscontinuous: false)
    }

    /// The frame at `pts` follows others of its GOP. Where GOPs fit into a segment, and one does not because its keyframe is
    /// missing, it is split.
    private mutating func followed(pts: Int64, frame: Int64) -> Decision {
        let begun = start ?? pts
        if longestGOP > 0, longestGOP <= target + frame / 2, pts - begun > target + Self.patience {
            begin(at: pts)
            return .cut(duration: pts - begun, isDiscontinuous: false)
        }
        guard pts - (lastAsked ?? begun) > target + frame / 2 else { return .goOn }
        lastAsked = pts
        return .fragmentAndAsk
    }

    /// Takes the next audio beside the video, which begins at `pts` and ends at `audioEnd`.
    mutating func audio(pts: Int64, end audioEnd: Int64) -> Decision {
        // The first audio of a sender that is ahead with it follows no gap.
        let (known, before) = (audioAtFrame ?? pts, newestAudio ?? pts)
        (newestAudio, audioAtFrame) = (max(before, pts), known)
        guard let start else { return .goOn }
        defer { end = max(end, audioEnd) }
        if pts - max(end, before) > Self.variableTolerance { return cutAtGap(before: pts) }
        // A sender may have its audio ahead of its video at all times: what counts is how much came since the last frame.
        let now = min(pts, newestFrame + pts - known)
        guard now - newestFrame > Self.patience, now - start >= target else { return .goOn }
        begin(at: now)
        return .cut(duration: now - start, isDiscontinuous: false)
    }

    /// Neither track has anything between the segment's end and `pts`, where the next one begins.
    private mutating func cutAtGap(before pts: Int64) -> Decision {
        let duration = elapsed
        begin(at: pts)
        return .cut(duration: duration, isDiscontinuous: true)
    }

    private mutating func begin(at pts: Int64) {
        (start, end, lastKeyframe, lastAsked, hasFrames) = (pts, pts, nil, nil, false)
    }

    private mutating func note(_ pts: Int64, _ frame: Int64, _ isKeyframe: Bool) {
        if isKeyframe { lastKeyframe = pts }
        end = max(end, pts + frame)
        (newestFrame, framesEnd) = (max(newestFrame, pts), max(framesEnd, pts + frame))
        (audioAtFrame, hasFrames) = (newestAudio, true)
    }
}
