// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Media

/// Which samples of which files are heard when, and how one clip gives way to the next. In samples of the result; pure.
struct AudioPlan: Equatable {
    /// How loud a clip is around one of its ends.
    struct Fade: Equatable {
        /// How it goes with time.
        enum Shape: Equatable {
            /// Of two that are one and the same: their sum is as loud as each.
            case linear
            /// Of two that have nothing to do with each other: their power is.
            case equalPower
        }

        let range: Range<Int64>
        let shape: Shape

        /// The factor at `position` of what comes.
        func rising(at position: Int64) -> Float {
            guard position >= range.lowerBound else { return 0 }
            guard position < range.upperBound else { return 1 }
            let part = (Double(position - range.lowerBound) + 0.5) / Double(range.count)
            return Float(shape == .linear ? part : sin(part * .pi / 2))
        }

        /// The factor at `position` of what goes.
        func falling(at position: Int64) -> Float {
            guard position >= range.lowerBound else { return 1 }
            guard position < range.upperBound else { return 0 }
            let part = (Double(position - range.lowerBound) + 0.5) / Double(range.count)
            return Float(shape == .linear ? 1 - part : cos(part * .pi / 2))
        }
    }

    /// The audio of one clip.
    struct Clip: Equatable {
        /// Where its frames are.
        let range: Range<Int64>
        /// What a position in its file's audio is later in the result.
        let shift: Int64
        /// What there is of it, beyond its range, too; nothing if it has no audio.
        let available: Range<Int64>
        var fadeIn: Fade?
        var fadeOut: Fade?

        /// Where it is heard.
        var heard: Range<Int64> {
            let low = fadeIn?.range.lowerBound ?? range.lowerBound
            let high = fadeOut?.range.upperBound ?? range.upperBound
            return (low..<max(low, high)).clamped(to: available)
        }

        func factor(at position: Int64) -> Float {
            (fadeIn?.rising(at: position) ?? 1) * (fadeOut?.falling(at: position) ?? 1)
        }
    }

    private(set) var clips: [Clip] = []
    /// Samples of the result.
    let count: Int64

    /// How long a fade to or from nothing lasts, where a file has no audio beyond the cut: short enough not to be heard, long
    /// enough not to click.
    private static let edge = Duration.milliseconds(5)
    /// The least length of a fade from one clip to the next.
    private static let shortest = Duration.milliseconds(10)
    /// Samples by which two pieces of one recording may seem to be apart because their times were rounded.
    private static let rounding: Int64 = 2

    /// The audio of the clips of `plan`; nil if it has none.
    init?(_ plan: StitchPlan, _ clips: [StitchClip], _ sources: [StitchSource]) {
        guard let format = plan.audio else { return nil }
        let (frame, sample) = (plan.video.frameRate.timeBase, format.timeBase)
        count = frame.rescale(Int64(plan.frameCount), to: sample)
        for (planned, clip) in zip(plan.clips, clips) {
            let source = sources[planned.source]
            let place = frame.rescale(Int64(planned.place), to: sample)
            let end = frame.rescale(Int64(planned.place + planned.count), to: sample)
            let first = source.video.timeBase.rescale(source.time(planned.frames.lowerBound), to: sample)
            var shift = place - first + sample.ticks(clip.audioOffset)
            if let last = self.clips.last, Self.goesOn(plan.clips, self.clips.count, sources) {
                let same = last.shift + Self.distance(sources, self.clips.count, sample)
                if abs(same - shift) <= Self.rounding { shift = same }
            }
            let heard = source.audio.map { audio in
                audio.timeBase.rescale(audio.range.lowerBound, to: sample) + shift..<audio.timeBase.rescale(
                    audio.range.upperBound, to: sample) + shift
            }
            self.clips.append(Clip(range: place..<end, shift: shift, available: heard ?? place..<place))
        }
        let half = frame.rescale(1, to: sample) / 2
        for index in self.clips.indices.dropFirst() where !Self.goesOn(plan.clips, index, sources) {
            let transition = frame.rescale(Int64(plan.clips[index].transition), to: sample)
            let isOne = sources[plan.clips[index - 1].source].path == sources[plan.clips[index].source].path
            fade(
                into: index, length: max(half, sample.ticks(Self.shortest)), transition: transition,
                edge: sample.ticks(Self.edge), isOne ? .linear : .equalPower)
        }
    }

    /// Whether the clip `index` goes on where the one before it ends, with a cut that nobody would hear without a fade.
    private static func goesOn(_ clips: [StitchPlan.Clip], _ index: Int, _ sources: [StitchSource]) -> Bool {
        let (before, after) = (clips[index - 1], clips[index])
        let (one, other) = (sources[before.source], sources[after.source])
        guard after.transition == 0 else { return false }
        if one.path == other.path { return before.frames.upperBound == after.frames.lowerBound }
        return one.isFollowed(by: other) && before.frames.upperBound == one.video.times.count
            && after.frames.lowerBound == 0
    }

    /// By how much the clip `index` is to be moved more than the one before, which it follows.
    private static func distance(_ sources: [StitchSource], _ index: Int, _ sample: TimeBase) -> Int64 {
        let (one, other) = (sources[index - 1], sources[index])
        guard one.path != other.path else { return 0 }
        return one.video.timeBase.rescale(one.video.end, to: sample)
            - other.video.timeBase.rescale(other.time(0), to: sample)
    }

    /// Lets the clip `index` follow the one before. Audio beyond the cut is used where there is some, so that nothing becomes
    /// shorter; where there is none, each side has a short fade of its own.
    private mutating func fade(into index: Int, length: Int64, transition: Int64, edge: Int64, _ shape: Fade.Shape) {
        let (before, after) = (clips[index - 1], clips[index])
        let cut = after.range.lowerBound
        let room = min(before.range.count, after.range.count)
        let length = transition > 0 ? transition : min(length, Int64(room) / 2)
        let places = transition > 0 ? [cut] : [cut - length / 2, cut, cut - length]
        for low in places where length > 0 {
            let range = low..<low + length
            guard before.available.upperBound >= range.upperBound, after.available.lowerBound <= range.lowerBound
            else { continue }
            let fade = Fade(range: range, shape: shape)
            (clips[index - 1].fadeOut, clips[index].fadeIn) = (fade, fade)
            return
        }
        let edge = min(edge, Int64(room) / 2)
        // What goes on beyond the cut during a transition ends with its file at the latest.
        let end = transition > 0 ? min(max(cut, before.available.upperBound), cut + transition) : cut
        let last = min(cut, max(before.range.lowerBound + edge, before.available.upperBound))
        let fall = transition > 0 && end - cut >= edge ? cut..<end : last - edge..<last
        clips[index - 1].fadeOut = Fade(range: fall, shape: shape)
        let start = max(cut, min(after.available.lowerBound, after.range.upperBound - edge))
        let rise = transition > 0 && transition >= edge ? start..<start + transition : start..<start + edge
        clips[index].fadeIn = Fade(range: rise, shape: shape)
    }
}
