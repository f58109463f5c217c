// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides where an HLS output is cut. Times are nanoseconds of the program.
///
/// A segment ends at a keyframe if it could become longer than the target by waiting for the next keyframe, judged by
/// the longest recent GOP. So an IDR frame that another output requested shortens a segment and never lengthens one. If
/// audio arrives but no frames, the audio's time ends a segment, so that the playlist still grows by a segment within
/// 1.5 target durations (RFC 8216, 6.2.1).
struct HLSCutter {
    /// What happens at a packet.
    enum Decision: Equatable {
        /// It belongs to the current segment.
        case goOn
        /// It is a keyframe within the segment: the packets before it can be written as a fragment.
        case fragment
        /// A segment begins with it. The previous segment lasted `duration`; `isDiscontinuous` means that there is a
        /// gap between the two.
        case cut(duration: Int64, isDiscontinuous: Bool)
        /// Like ``fragment``, but the packet is not a keyframe, and no keyframe came in time: one must be requested.
        case fragmentAndAsk
    }

    /// At a variable rate, frames count as missing if a keyframe is later than expected by more than this.
    private static let variableTolerance: Int64 = 500_000_000
    /// How much audio may arrive before a frame counts as missing. If a segment ends only then, its duration still
    /// rounds to the target duration; with half a second it would not (RFC 8216, 4.3.3.1).
    private static let patience: Int64 = 350_000_000
    /// If a frame is decoded before frames that are shown earlier, at most this many of them may be missing, and at
    /// most half a second.
    private static let reordered: Int64 = 4
    /// For how many target durations the length of a GOP is remembered.
    private static let memory: Int64 = 8

    private let target: Int64
    /// Whether the frame rate is constant.
    private let isConstant: Bool
    /// Start of the current segment; nil before the first frame.
    private(set) var start: Int64?
    /// The end of the segment so far, on the track that ends later.
    private var end: Int64 = 0
    /// Whether the segment has a frame.
    private var hasFrames = false
    /// Start of the latest frame, and the end of the frames.
    private var (newestFrame, framesEnd): (Int64, Int64) = (0, 0)
    /// Start of the latest audio, and of the latest audio when the last frame arrived.
    private var (newestAudio, audioAtFrame): (Int64?, Int64?)
    /// The last keyframe, if all frames up to now have arrived since it; nil if that is not known.
    private var lastKeyframe: Int64?
    /// When recent GOPs ended, and their lengths. Each is longer than all later ones, so the first is the longest.
    private var recentGOPs: [(end: Int64, length: Int64)] = []
    /// When a keyframe was last requested in this segment.
    private var lastAsked: Int64?

    /// Creates a cutter for segments of the length `target`. With `isConstant`, a frame that begins later than the end
    /// of the previous one means that a frame is missing; at a variable rate that is normal.
    init(target: Duration, isConstant: Bool = true) {
        (self.target, self.isConstant) = (target.inNanoseconds, isConstant)
    }

    /// A cutter for a run whose GOPs are as long as the recent ones.
    var successor: HLSCutter {
        var next = HLSCutter(target: .nanoseconds(target), isConstant: isConstant)
        next.recentGOPs = recentGOPs
        return next
    }

    /// Duration of the current segment so far: the duration of its frames, or of its audio if it has no frames.
    var elapsed: Int64 {
        let shown = hasFrames && end - framesEnd <= Self.patience ? framesEnd : end
        return start.map { max(0, shown - $0) } ?? 0
    }

    private var longestGOP: Int64 { recentGOPs.first?.length ?? 0 }

    /// Remembers the length of the GOP that ends at `end`, and forgets GOPs that ended long before.
    private mutating func remember(_ length: Int64, endingAt end: Int64) {
        recentGOPs.removeAll { $0.length <= length || end - $0.end > Self.memory * target }
        recentGOPs.append((end, length))
    }

    /// Processes the next frame in decoding order; `frame` is its duration.
    mutating func video(pts: Int64, frame: Int64, isKeyframe: Bool) -> Decision {
        defer { note(pts, frame, isKeyframe) }
        guard start != nil else {
            begin(at: pts)
            return .goOn
        }
        // Before a keyframe all frames of the segment have arrived, so `end` is exact to half a frame. Before another
        // frame, frames that are shown earlier may still be missing.
        let exact = isConstant ? frame / 2 : Self.variableTolerance
        let tolerance = isKeyframe ? exact : Self.variableTolerance + Self.reordered * frame
        if pts - end > tolerance { return cutAtGap(before: pts) }
        let isBehindHole = pts - framesEnd > tolerance
        guard isKeyframe || isBehindHole else { return followed(pts: pts, frame: frame) }
        // If frames are missing, the length of the GOP says nothing about the next GOP.
        if isBehindHole { lastKeyframe = nil }
        if let lastKeyframe { remember(pts - lastKeyframe, endingAt: pts) }
        return joined(pts: pts, frame: frame) ?? (isKeyframe ? .fragment : .goOn)
    }

    /// Cuts at `pts`, where a segment can begin, if the current segment could become too long by waiting for the next
    /// keyframe.
    private mutating func joined(pts: Int64, frame: Int64) -> Decision? {
        let begun = start ?? pts
        // After a gap, audio may come just before its frame; it does not become a segment of its own.
        let limit = hasFrames ? target + frame / 2 : target + Self.patience
        guard pts - begun + longestGOP > limit else { return nil }
        begin(at: pts)
        return .cut(duration: pts - begun, isDiscontinuous: false)
    }

    /// Processes the frame at `pts`, which is not the first of its GOP. If GOPs usually fit into a segment, but this
    /// one does not because a keyframe is missing, the GOP is split.
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

    /// Processes the next audio packet, from `pts` to `audioEnd`.
    mutating func audio(pts: Int64, end audioEnd: Int64) -> Decision {
        // If a sender's audio is ahead of its video, its first audio does not follow a gap.
        let (known, before) = (audioAtFrame ?? pts, newestAudio ?? pts)
        (newestAudio, audioAtFrame) = (max(before, pts), known)
        guard let start else { return .goOn }
        defer { end = max(end, audioEnd) }
        if pts - max(end, before) > Self.variableTolerance { return cutAtGap(before: pts) }
        // A sender's audio may always be ahead of its video: only audio that arrived since the last frame counts.
        let now = min(pts, newestFrame + pts - known)
        guard now - newestFrame > Self.patience, now - start >= target else { return .goOn }
        begin(at: now)
        return .cut(duration: now - start, isDiscontinuous: false)
    }

    /// Cuts at a gap in both tracks. It lasts from the segment's end to `pts`, where the next segment begins.
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
