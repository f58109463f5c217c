// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides where an HLS output is cut. Times are nanoseconds of the program.
///
/// A segment ends at a keyframe, and at the last one before it would become too long: when waiting for another could make
/// it longer than the target, judged by the longest GOP seen. So an IDR frame that somebody else asked for shortens a
/// segment and never lengthens one.
struct HLSCutter {
    /// What to do with a frame.
    enum Decision: Equatable {
        /// It belongs to the segment under way.
        case goOn
        /// It is a keyframe inside of the segment: what came before it can be written.
        case fragment
        /// A segment begins with it. The one before lasted `duration`, and if `isDiscontinuous`, frames are missing.
        case cut(duration: Int64, isDiscontinuous: Bool)
        /// As ``fragment``, but it is no keyframe, and none came in time: one is needed.
        case fragmentAndAsk
    }

    /// How much later than expected a keyframe of a variable rate comes before frames count as missing.
    private static let variableTolerance: Int64 = 500_000_000

    private let target: Int64
    /// Whether frames follow each other at a constant rate.
    private let isConstant: Bool
    private var start: Int64?
    private var end: Int64 = 0
    private var lastKeyframe: Int64 = 0
    private var longestGOP: Int64 = 0
    /// When a keyframe was asked for last, in this segment.
    private var lastAsked: Int64?

    /// A cutter for segments of `target`. `isConstant` says that a frame which comes later than the one before lasts is
    /// missing; at a variable rate that is usual.
    init(target: Duration, isConstant: Bool = true) {
        (self.target, self.isConstant) = (target.inNanoseconds, isConstant)
    }

    /// What the segment under way has lasted.
    var elapsed: Int64 { start.map { max(0, end - $0) } ?? 0 }

    /// Takes the next frame in decoding order, which lasts `frame`. The first must be a keyframe.
    mutating func video(pts: Int64, frame: Int64, isKeyframe: Bool) -> Decision {
        defer { end = max(end, pts + frame) }
        guard let start else {
            begin(at: pts)
            return .goOn
        }
        guard isKeyframe else {
            guard pts - (lastAsked ?? start) > target + frame / 2 else { return .goOn }
            lastAsked = pts
            return .fragmentAndAsk
        }
        // Before a keyframe all frames of the segment are there, so `end` is where it should be, to half a frame.
        if pts - end > (isConstant ? frame / 2 : Self.variableTolerance) {
            let duration = elapsed
            begin(at: pts)
            return .cut(duration: duration, isDiscontinuous: true)
        }
        longestGOP = max(longestGOP, pts - lastKeyframe)
        lastKeyframe = pts
        guard pts - start + longestGOP > target + frame / 2 else { return .fragment }
        begin(at: pts)
        return .cut(duration: pts - start, isDiscontinuous: false)
    }

    private mutating func begin(at pts: Int64) {
        (start, end, lastKeyframe, lastAsked) = (pts, pts, pts, nil)
    }
}
