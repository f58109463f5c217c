// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Maps a source's timestamps to its timeline, whose 0 is the first frame (or sample, for audio alone), and joins
/// the rounds of a loop without a hole.
///
/// All ticks are of the leading track's time base: the video's if there is one.
struct SourceTimeline: Hashable {
    /// Further than this from the first frame (10 years) is no time at all. What passes can be summed in 64 bits.
    private static let farthest = Duration.seconds(10 * 366 * 86_400)

    private let timeBase: TimeBase
    /// How long the last frame lasts, in the time base.
    let frameDuration: Int64
    private var origin: Int64?
    private var offset: Int64 = 0
    private var last: Int64?
    private var end: Int64?

    /// A timeline in `timeBase`, where a frame without a known end lasts `frameDuration` ticks.
    init(timeBase: TimeBase, frameDuration: Int64) {
        self.timeBase = timeBase
        self.frameDuration = max(1, frameDuration)
    }

    /// Whether something of this round was placed, so that audio can be placed too.
    var hasOrigin: Bool { origin != nil }
    /// Where this round begins, in samples of `rate`.
    func start(in rate: TimeBase) -> Int64 { timeBase.rescale(offset, to: rate) }
    /// Where this round ends so far, in samples of `rate`.
    func end(in rate: TimeBase) -> Int64 { timeBase.rescale(end ?? offset, to: rate) }

    /// Where a frame with these source ticks, which ``TrackDecoder`` believed, belongs. Without a timestamp it follows
    /// the one before; two frames never share a moment.
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

    /// Where audio with `pts` in `base` belongs, in samples of `rate`; nil before the origin is known.
    func position(of pts: Int64, in base: TimeBase, rate: TimeBase) -> Int64? {
        guard let origin else { return nil }
        let distance = base.rescale(pts, to: rate) - timeBase.rescale(origin, to: rate)
        guard distance.magnitude <= rate.ticks(Self.farthest) else { return nil }
        return distance + timeBase.rescale(offset, to: rate)
    }

    /// Makes audio at `pts` in `base` the origin, for a source that has no video, or none that can be decoded.
    mutating func begin(at pts: Int64, in base: TimeBase) {
        if origin == nil { origin = base.rescale(pts, to: timeBase) }
    }

    /// Notes that audio of a source without video reaches to `position`, in samples of `rate`.
    mutating func extend(to position: Int64, in rate: TimeBase) {
        end = max(end ?? offset, rate.rescale(position, to: timeBase))
    }

    /// Begins the next round where this one ended. False if this one was empty.
    mutating func beginRound() -> Bool {
        origin = nil
        guard let end, end > offset else { return false }
        offset = end
        return true
    }

    /// Makes the first round, of which nothing was placed yet, begin at `position`, in samples of `rate`.
    mutating func begin(at position: Int64, rate: TimeBase) { offset = rate.rescale(position, to: timeBase) }
}
