// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Segmenter

/// A stretch of a range that no file holds.
package struct ClipGap: Sendable, Codable, Equatable {
    /// When it began.
    package var from: String
    /// When it ended.
    package var to: String

    init(from: Int64, to: Int64) {
        self.from = UTCTime(milliseconds: from).extended
        self.to = UTCTime(milliseconds: to).extended
    }
}

/// Puts files one behind the other on one timeline, which begins with the first picture of the first file.
///
/// Files of one run lie as far apart as their program says, in whole pictures; files of two runs as far as the wall clock
/// says. Where no picture is missing, the sound goes on where that of the file before ends.
struct ClipTimeline {
    /// Where a file's first picture lies, in ticks of the picture, and the same place in samples of sound.
    struct Place: Equatable {
        var picture: Int64
        var sound: Int64
    }

    private(set) var places: [Place] = []
    private(set) var gaps: [ClipGap] = []

    /// Samples by which the sound of two files may seem to be apart because their times were rounded.
    private static let rounding: Int64 = 2
    /// Milliseconds by which the wall clock may say that two runs overlap.
    private static let clockTolerance: Int64 = 2000

    /// The timeline of `sources`, which are in order and of one kind.
    init(_ sources: [ClipSource]) throws(ClipFailure) {
        for (index, source) in sources.enumerated() {
            guard index > 0, let last = places.last else {
                places.append(Place(picture: 0, sound: 0))
                continue
            }
            let before = sources[index - 1]
            let missing = try Self.missingPictures(before, source)
            try Self.checkDistance(before, source, missing)
            let picture = last.picture + before.pictureEnd + missing * source.frameDuration
            var sound = source.pictureBase.rescale(picture, to: source.soundBase)
            if missing > 0 {
                gaps.append(ClipGap(from: before.end, to: max(before.end, source.start)))
            } else if let end = before.sounds.last.map({ last.sound + $0.pts + $0.duration }) {
                let joined = end - source.soundStart
                if abs(joined - sound) <= Self.rounding { sound = joined }
            }
            places.append(Place(picture: picture, sound: sound))
        }
    }

    /// The last sample before a gap lasts until the next, and a table says that in 32 bits (ISO/IEC 14496-12, 8.6.1.2).
    private static func checkDistance(
        _ before: ClipSource, _ after: ClipSource, _ missing: Int64
    ) throws(ClipFailure) {
        let finest = max(after.pictureBase.denominator, after.soundBase.denominator)
        // Less a minute, for the samples on both sides.
        let longest = Int64(UInt32.max) / Int64(finest) - 60
        guard missing > 0, pictures(after).rescale(missing, to: TimeBase(1, 1), rounding: .up) > longest else { return }
        throw ClipFailure(
            "More than \(longest / 3600) hours lie between \(before.name) and \(after.name); export them separately.")
    }

    /// Whole pictures of `source` as a clock.
    private static func pictures(_ source: ClipSource) -> TimeBase {
        TimeBase(Int32(clamping: source.frameDuration), source.pictureBase.denominator)
    }

    private static func missingPictures(_ before: ClipSource, _ after: ClipSource) throws(ClipFailure) -> Int64 {
        let pictures = pictures(after)
        if let one = before.position, let other = after.position, one.run == other.run {
            let end = one.programStart + before.pictureBase.rescale(before.pictureEnd, to: .nanoseconds)
            let missing = TimeBase.nanoseconds.rescale(other.programStart - end, to: pictures)
            guard missing >= 0 else { throw overlap(before, after) }
            return missing
        }
        let apart = after.start - before.end
        guard apart >= -clockTolerance else { throw overlap(before, after) }
        return max(0, TimeBase.milliseconds.rescale(apart, to: pictures))
    }

    private static func overlap(_ before: ClipSource, _ after: ClipSource) -> ClipFailure {
        ClipFailure("\(after.name) repeats a part of \(before.name): nobody can say which of the two is meant.")
    }
}
