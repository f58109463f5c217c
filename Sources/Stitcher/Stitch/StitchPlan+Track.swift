// SPDX-License-Identifier: Apache-2.0

internal import MP4
internal import Media

extension StitchPlan {
    /// The track of `frames` in ticks of `timescale`; they come in the order of decoding, and their times are frames of the result.
    /// Each is shown as long as any other, but that the frames of each clip come later by what `moves` says, in ticks, and that
    /// those in front of a hole may be lengthened; it is decoded as late as the order allows, at one distance throughout a clip,
    /// so that decoding times grow at joins, too.
    func track(of frames: [IndexedSample], timescale: UInt32, moves: [Int64]) throws(ClipFailure) -> ClipTrack {
        let expected = clips.indices.map { written(of: $0) }
        guard frames.map(\.pts).sorted().elementsEqual(expected.joined().lazy.map { Int64($0) }) else {
            throw ClipFailure("A frame is missing in the result, or there twice; nothing was written.")
        }
        let frame = video.frameRate.timeBase.rescale(1, to: TimeBase(1, Int32(clamping: timescale)))
        // Which frame of the result each would be in the order of decoding, and the clip it is of.
        var (number, clip) = (0, 0)
        let places = frames.map { sample in
            while clip + 1 < clips.count, sample.pts >= Int64(clips[clip + 1].place) {
                clip += 1
                number = max(number, clips[clip].place)
            }
            defer { number += 1 }
            return (number: Int64(number), clip: clip)
        }
        let delay = zip(places, frames).map { $0.number - $1.pts }.max() ?? 0
        var samples = frames
        for (index, place) in places.enumerated() {
            let move = place.clip < moves.count ? moves[place.clip] : 0
            samples[index].dts = (place.number - delay) * frame + move
            samples[index].pts = samples[index].pts * frame + move
            samples[index].duration = frame
        }
        return ClipTrack(samples: samples, start: 0)
    }
}
