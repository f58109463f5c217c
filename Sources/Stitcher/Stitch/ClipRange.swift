// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The frames of a file that a clip includes: the requested frames or, if the file has audio, only those for which
/// there is audio. Depending on the clip, frames must be completely within the requested range, or only begin in it. A
/// clip with a time on air includes all requested frames, even without audio.
struct ClipRange: Equatable {
    /// The numbers of the included frames in the file.
    let frames: Range<Int>
    /// The number of frames in the result, after conversion to its frame rate.
    let count: Int
    /// Notes on the requested frames that are left out because they have no audio.
    let notes: [String]

    /// By how much the audio is allowed to be shorter than the video: about one packet of audio.
    private static let tolerance = Duration.milliseconds(25)
    /// The rounding error of times in containers.
    private static let rounding = Duration.milliseconds(1)

    /// The range of `clip` in `source`, for a result with the frame rate `rate`.
    init(_ clip: StitchClip, of source: StitchSource, at rate: FrameRate) throws(ClipFailure) {
        let (base, times) = (source.video.timeBase, source.video.times)
        let slack = base.ticks(Self.rounding)
        let start = times.first ?? 0
        if let from = clip.from, let to = clip.to, from >= to {
            throw ClipFailure(
                "\(source.name): it would begin at \(DurationText(from)), which is not before its end at \(DurationText(to))."
            )
        }
        let low = start + base.ticks(clip.from ?? .zero)
        let high = clip.to.map { start + base.ticks($0) } ?? source.video.end
        var first: Int
        var end: Int
        if clip.coversEnds {
            guard low < source.video.end else { throw Self.nothing(clip, source) }
            first = max(0, times.partitionPoint { $0 > low + slack } - 1)
            end = max(first + 1, times.partitionPoint { $0 >= high - slack })
        } else {
            first = times.partitionPoint { $0 >= low - slack }
            // The number of frames that end no later than `high`, or, if `takesBegun` is set, that begin before `high`.
            end =
                clip.takesBegun
                ? times.partitionPoint { $0 >= high - slack }
                : times.dropFirst().partitionPoint { $0 > high + slack }
            if source.video.end <= high + slack, !times.isEmpty { end = times.count }
        }
        guard first < end, end <= times.count else { throw Self.nothing(clip, source) }

        var notes: [String] = []
        if let audio = source.audio, clip.airtime == nil {
            let early = audio.timeBase.rescale(audio.range.lowerBound, to: base) - base.ticks(Self.tolerance)
            let late = audio.timeBase.rescale(audio.range.upperBound, to: base) + base.ticks(Self.tolerance)
            let (asked, until) = (first, end)
            first = max(first, times.partitionPoint { $0 >= early })
            while end > first, source.time(end) > late { end -= 1 }
            guard first < end else { throw ClipFailure("\(source.name): no frame of it has audio.") }
            if first > asked { notes.append("its first \(first - asked) frames have no audio and are left out") }
            if end < until { notes.append("its last \(until - end) frames have no audio and are left out") }
        }
        frames = first..<end
        self.notes = notes
        let length = source.time(end) - times[first]
        count =
            source.video.isConstant && source.video.rate == rate
            ? end - first : max(1, Int(base.rescale(length + slack, to: rate.timeBase, rounding: .down)))
    }

    private static func nothing(_ clip: StitchClip, _ source: StitchSource) -> ClipFailure {
        let length = DurationText(source.duration)
        guard let from = clip.from, from >= source.duration else {
            return ClipFailure("\(source.name): there is no whole frame in the range; the file lasts \(length).")
        }
        return ClipFailure("\(source.name): it would begin at \(DurationText(from)), but lasts only \(length).")
    }
}
