// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Converts a source's timestamps to positions on the source's timeline, and joins the rounds of a loop without a gap.
/// Position 0 is the first frame or, without video, the first sample.
///
/// All ticks are in the time base of the leading track, which is the video or, without video, the audio.
struct SourceTimeline: Hashable {
    /// Times that are further than this from the first frame (10 years) are rejected as invalid. The limit makes sure
    /// that sums of accepted times fit in 64 bits.
    private static let farthest = Duration.seconds(10 * 366 * 86_400)

    private let timeBase: TimeBase
    /// The assumed duration of a frame, in ticks of the time base.
    let frameDuration: Int64
    private var origin: Int64?
    private var offset: Int64 = 0
    private var last: Int64?
    private var end: Int64?

    /// Creates a timeline in `timeBase`, on which a frame of unknown duration lasts `frameDuration` ticks.
    init(timeBase: TimeBase, frameDuration: Int64) {
        self.timeBase = timeBase
        self.frameDuration = max(1, frameDuration)
    }

    /// Whether a frame or audio of the current round has a position, so that other audio can be placed relative to it.
    var hasOrigin: Bool { origin != nil }
    /// The start of the current round of the loop, in samples of `rate`.
    func start(in rate: TimeBase) -> Int64 { timeBase.rescale(offset, to: rate) }
    /// The end of the media placed in the current round of the loop so far, in samples of `rate`.
    func end(in rate: TimeBase) -> Int64 { timeBase.rescale(end ?? offset, to: rate) }

    /// Returns the position of a frame on the timeline. ``TrackDecoder`` has already checked that `pts` is plausible. A
    /// frame without a pts follows the previous frame. Two frames never get the same position.
    mutating func place(_ pts: Int64?) -> Int64 {
        let expected = last.map { $0 + frameDuration } ?? offset
        if origin == nil { origin = pts ?? 0 }
        var position = expected
        if let pts, let origin, (pts - origin).magnitude <= timeBase.ticks(Self.farthest) {
            position = pts - origin + offset
        }
        if let last, position <= last { position = last + 1 }
        last = position
        end = position + frameDuration
        return position
    }

    /// Returns the position, in samples of `rate`, of audio at `pts` in `base`; nil before the origin is known, and for
    /// an audio time that is further than ``farthest`` from the origin.
    func position(of pts: Int64, in base: TimeBase, rate: TimeBase) -> Int64? {
        guard let origin else { return nil }
        let distance = base.rescale(pts, to: rate) - timeBase.rescale(origin, to: rate)
        guard distance.magnitude <= rate.ticks(Self.farthest) else { return nil }
        return distance + timeBase.rescale(offset, to: rate)
    }

    /// Makes the audio at `pts` in `base` the origin of the current round, unless a frame or earlier audio is the
    /// origin already.
    mutating func begin(at pts: Int64, in base: TimeBase) {
        if origin == nil { origin = base.rescale(pts, to: timeBase) }
    }

    /// Records that the audio of a source without video ends at `position`, in samples of `rate`.
    mutating func extend(to position: Int64, in rate: TimeBase) {
        end = max(end ?? offset, rate.rescale(position, to: timeBase))
    }

    /// Begins the next round of the loop at the end of the current round. Returns false if nothing was placed in the
    /// current round.
    mutating func beginRound() -> Bool {
        origin = nil
        guard let end, end > offset else { return false }
        offset = end
        return true
    }

    /// Makes the first round begin at `position`, in samples of `rate`. Must be called before any media of the round
    /// gets its position.
    mutating func begin(at position: Int64, rate: TimeBase) { offset = rate.rescale(position, to: timeBase) }
}
