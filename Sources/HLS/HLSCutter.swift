// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides where the segments of an HLS output begin and end. In a program without video, the audio packets are treated
/// as frames, each of which is a keyframe.
///
/// A segment ends at a keyframe if waiting for the next keyframe could make it longer than the target. The wait is
/// assumed to be as long as the longest recent GOP. A keyframe that another output requested therefore shortens a
/// segment and never lengthens it. If audio arrives but no frames, the segment ends by the audio's time. The playlist
/// then still grows by a segment within 1.5 target durations (RFC 8216, 6.2.1).
struct HLSCutter {
    /// What must be done before a packet is written.
    enum Decision: Equatable {
        /// Nothing: the packet belongs to the current segment.
        case goOn
        /// The packets before this one are written as a fragment. This packet is a keyframe within the segment.
        case fragment
        /// A new segment begins with this packet. The previous segment lasted `duration`. `isDiscontinuous` means that
        /// there is a gap between the two segments.
        case cut(duration: Duration, isDiscontinuous: Bool)
        /// The packets before this one are written as a fragment, and a keyframe must be requested. This packet is not
        /// a keyframe, and none came in time.
        case fragmentAndAsk
    }

    /// The tolerance for a variable frame rate and for audio. If a keyframe or an audio packet is later
    /// than expected by more than this, packets are missing.
    private static let variableTolerance: Duration = .milliseconds(500)
    /// The duration of audio without a frame after which a frame counts as missing. It is less than
    /// half a second, so that a segment that is longer than the target by this much still has a duration that rounds to
    /// the target duration (RFC 8216, 4.3.3.1).
    private static let patience: Duration = .milliseconds(350)
    /// The maximum number of frames that arrive after the current frame although they are shown before it. At a frame
    /// that is not a keyframe, a gap must be longer than these frames and half a second to count as a gap.
    private static let reordered = 4
    /// The number of target durations for which the length of a GOP is remembered.
    private static let memory = 8

    private let target: Duration
    /// Whether the frame rate is constant.
    private let isConstant: Bool
    /// The start of the current segment; nil before the first frame.
    private(set) var start: ProgramInstant?
    /// The end of the current segment so far, on the track that ends later.
    private var end = ProgramInstant.zero
    /// Whether the current segment has a frame.
    private var hasFrames = false
    /// The latest start, and the latest end, of all frames so far.
    private var (newestFrame, framesEnd) = (ProgramInstant.zero, ProgramInstant.zero)
    /// The latest start of an audio packet so far, and what it was when the last frame arrived.
    private var (newestAudio, audioAtFrame): (ProgramInstant?, ProgramInstant?)
    /// The time of the last keyframe. Nil if frames after it may be missing, or if the
    /// segment has no keyframe yet.
    private var lastKeyframe: ProgramInstant?
    /// The ends and lengths of recent GOPs. Each GOP is longer than all later ones in the list, so the
    /// first is the longest.
    private var recentGOPs: [(end: ProgramInstant, length: Duration)] = []
    /// The time at which a keyframe was last requested in the current segment; nil if none was
    /// requested.
    private var lastAsked: ProgramInstant?

    /// Creates a cutter for segments of the length `target`. If `isConstant` is true, a frame that begins later than
    /// the previous one ends means that a frame is missing. At a variable frame rate that is normal.
    init(target: Duration, isConstant: Bool = true) {
        (self.target, self.isConstant) = (target, isConstant)
    }

    /// A cutter to use after the coding has changed. It remembers the recent GOPs, because later GOPs are expected to
    /// have the same length.
    var successor: HLSCutter {
        var next = HLSCutter(target: target, isConstant: isConstant)
        next.recentGOPs = recentGOPs
        return next
    }

    /// The duration of the current segment so far. It is the duration of the segment's frames, or of its audio if the
    /// segment has no frames or if frames are missing at its end.
    var elapsed: Duration {
        let shown = hasFrames && end - framesEnd <= Self.patience ? framesEnd : end
        return start.map { max(.zero, shown - $0) } ?? .zero
    }

    private var longestGOP: Duration { recentGOPs.first?.length ?? .zero }

    /// Remembers `length` as the length of the GOP that ends at `end`, and forgets GOPs that ended long ago.
    private mutating func remember(_ length: Duration, endingAt end: ProgramInstant) {
        recentGOPs.removeAll { $0.length <= length || end - $0.end > target * Self.memory }
        recentGOPs.append((end, length))
    }

    /// Decides what must be done before the frame at `pts` is written. Frames must be passed in decoding order. `frame`
    /// is the duration of the frame.
    mutating func video(pts: ProgramInstant, frame: Duration, isKeyframe: Bool) -> Decision {
        defer { note(pts, frame, isKeyframe) }
        guard start != nil else {
            begin(at: pts)
            return .goOn
        }
        // At a keyframe all earlier frames of the segment have arrived, so `end` is exact to half a frame. At any other
        // frame, some frames that are shown earlier may still come.
        let exact = isConstant ? frame / 2 : Self.variableTolerance
        let tolerance = isKeyframe ? exact : Self.variableTolerance + frame * Self.reordered
        if pts - end > tolerance { return cutAtGap(before: pts) }
        let isBehindHole = pts - framesEnd > tolerance
        guard isKeyframe || isBehindHole else { return followed(pts: pts, frame: frame) }
        // If frames are missing, the length of this GOP says nothing about the length of the next one.
        if isBehindHole { lastKeyframe = nil }
        if let lastKeyframe { remember(pts - lastKeyframe, endingAt: pts) }
        return joined(pts: pts, frame: frame) ?? (isKeyframe ? .fragment : .goOn)
    }

    /// Begins a segment at `pts`, the time of a keyframe or of the first frame after missing frames, if the current
    /// segment could become too long by waiting for the next keyframe. Otherwise returns nil.
    private mutating func joined(pts: ProgramInstant, frame: Duration) -> Decision? {
        let begun = start ?? pts
        // After a gap, audio may arrive just before the first frame. The limit is then larger by ``patience``, so that
        // this audio does not become a segment of its own.
        let limit = hasFrames ? target + frame / 2 : target + Self.patience
        guard pts - begun + longestGOP > limit else { return nil }
        begin(at: pts)
        return .cut(duration: pts - begun, isDiscontinuous: false)
    }

    /// Decides about the frame at `pts`, which is not the first frame of its GOP. A segment is split within a GOP only
    /// if GOPs usually fit into a segment, but a keyframe is missing and the segment has become too long. Otherwise a
    /// keyframe is requested each time the target duration has passed without one.
    private mutating func followed(pts: ProgramInstant, frame: Duration) -> Decision {
        let begun = start ?? pts
        if longestGOP > .zero, longestGOP <= target + frame / 2, pts - begun > target + Self.patience {
            begin(at: pts)
            return .cut(duration: pts - begun, isDiscontinuous: false)
        }
        guard pts - (lastAsked ?? begun) > target + frame / 2 else { return .goOn }
        lastAsked = pts
        return .fragmentAndAsk
    }

    /// Decides what must be done before the next audio packet is written. The packet lasts from `pts` to `audioEnd`.
    mutating func audio(pts: ProgramInstant, end audioEnd: ProgramInstant) -> Decision {
        // The first audio packet is compared with itself: if a sender's audio is ahead of its video, the first audio
        // packet does not mean that there is a gap.
        let (known, before) = (audioAtFrame ?? pts, newestAudio ?? pts)
        (newestAudio, audioAtFrame) = (max(before, pts), known)
        guard let start else { return .goOn }
        defer { end = max(end, audioEnd) }
        if pts - max(end, before) > Self.variableTolerance { return cutAtGap(before: pts) }
        // Audio may always be ahead of the video. Only audio that arrived since the last frame shows how long frames
        // have been missing.
        let now = min(pts, newestFrame + (pts - known))
        guard now - newestFrame > Self.patience, now - start >= target else { return .goOn }
        begin(at: now)
        return .cut(duration: now - start, isDiscontinuous: false)
    }

    /// Ends the segment at a gap in both tracks. The next segment begins after the gap, at `pts`.
    private mutating func cutAtGap(before pts: ProgramInstant) -> Decision {
        let duration = elapsed
        begin(at: pts)
        return .cut(duration: duration, isDiscontinuous: true)
    }

    private mutating func begin(at pts: ProgramInstant) {
        (start, end, lastKeyframe, lastAsked, hasFrames) = (pts, pts, nil, nil, false)
    }

    private mutating func note(_ pts: ProgramInstant, _ frame: Duration, _ isKeyframe: Bool) {
        if isKeyframe { lastKeyframe = pts }
        end = max(end, pts + frame)
        (newestFrame, framesEnd) = (max(newestFrame, pts), max(framesEnd, pts + frame))
        (audioAtFrame, hasFrames) = (newestAudio, true)
    }
}
