// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import MP4
internal import Media

/// A part of a range that no file contains.
package struct ClipGap: Sendable, Codable, Equatable {
    /// The wall-clock time at which the gap begins, such as `2026-11-21T14:03:10.123Z`.
    package var from: String
    /// The wall-clock time at which the gap ends, in the same form as ``from``.
    package var to: String

    init(from: Int64, to: Int64) {
        self.from = UTCTime(milliseconds: from).extended
        self.to = UTCTime(milliseconds: to).extended
    }
}

/// Positions files one after the other on one timeline, which begins with the first frame of the first file.
///
/// The distance between two files of the same recorder run is the difference of their program times, in whole frames
/// (in ticks for a stream that was recorded without re-encoding). The distance between files of different runs is the
/// difference of their wall-clock times. If no frame is missing, the audio continues where the audio of the previous
/// file ends.
struct RangeTimeline {
    /// The position of a file's first frame on the timeline, in ticks of the video and in samples of the audio.
    struct Place: Equatable {
        var video: Int64
        var audio: Int64
    }

    private(set) var places: [Place] = []
    private(set) var gaps: [ClipGap] = []

    /// The maximum distance, in samples, between the audio of two files that counts as a rounding error and not as a
    /// gap.
    private static let rounding: Int64 = 2
    /// How much the files of two runs are allowed to overlap according to the wall clock.
    private static let clockTolerance = Duration.seconds(2)

    /// The timeline of `sources`, which are in order of time and have the same coding.
    init(_ sources: [StitchSource]) throws(ClipFailure) {
        for (index, source) in sources.enumerated() {
            guard index > 0, let last = places.last else {
                places.append(Place(video: 0, audio: 0))
                continue
            }
            let before = sources[index - 1]
            let missing = try Self.missingFrames(before, source)
            try Self.checkDistance(before, source, missing)
            let distance = source.distance(from: before) ?? before.video.end + missing * source.frameDuration
            let video = last.video + distance
            var audio = source.video.timeBase.rescale(video, to: source.audioBase)
            if missing > 0 {
                gaps.append(ClipGap(from: before.endTime, to: max(before.endTime, source.start)))
            } else if let end = before.packets.last.map({ last.audio + $0.pts + $0.duration }) {
                let joined = end - (source.audio?.range.lowerBound ?? 0)
                if abs(joined - audio) <= Self.rounding { audio = joined }
            }
            places.append(Place(video: video, audio: audio))
        }
    }

    /// Throws if the gap between two files is too long for the exported file. The last sample before a gap lasts until
    /// the first sample after the gap, and the exported file's table has only 32 bits for a sample's duration (ISO/IEC
    /// 14496-12, 8.6.1.2).
    private static func checkDistance(
        _ before: StitchSource, _ after: StitchSource, _ missing: Int64
    ) throws(ClipFailure) {
        let finest = max(after.video.timeBase.denominator, after.audioBase.denominator)
        // The longest gap that is permitted, in seconds: the 32 bits in ticks of the finer time base, less a minute as
        // a margin for the durations of the samples before and after the gap.
        let longest = Int64(UInt32.max) / Int64(finest) - 60
        guard missing > 0, after.video.rate.timeBase.rescale(missing, to: TimeBase(1, 1), rounding: .up) > longest
        else { return }
        throw ClipFailure(
            "More than \(longest / 3600) hours lie between \(before.name) and \(after.name); export them separately.")
    }

    private static func missingFrames(_ before: StitchSource, _ after: StitchSource) throws(ClipFailure) -> Int64 {
        let frames = after.video.rate.timeBase
        if let one = before.position, let other = after.position, one.run == other.run {
            let end = one.programStart + before.video.timeBase.duration(before.video.end)
            let missing = frames.ticks(other.programStart - end)
            guard missing >= 0 else { throw overlap(before, after) }
            return missing
        }
        let apart = after.start - before.endTime
        guard apart >= -clockTolerance.inMilliseconds else { throw overlap(before, after) }
        return max(0, TimeBase.milliseconds.rescale(apart, to: frames))
    }

    private static func overlap(_ before: StitchSource, _ after: StitchSource) -> ClipFailure {
        ClipFailure("\(after.name) repeats a part of \(before.name), and it is not clear which of the two is meant.")
    }
}
