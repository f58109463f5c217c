// SPDX-License-Identifier: Apache-2.0

internal import MP4
internal import Media

extension StitchPlan {
    /// Creates the track of `frames` in ticks of `timescale`. The frames are in decoding order, and their times are
    /// frame numbers of the result. Each frame is shown at the time that the frame rate requires, plus its clip's value
    /// in `moves` (in ticks). In a plan whose frames keep their times, each frame is shown at its time in the file
    /// instead. Frames before a gap may last longer. Each frame is decoded as late as the order allows, at a constant
    /// distance, so that decoding times also grow where clips are joined.
    func track(
        of frames: [IndexedSample], _ sources: [StitchSource], timescale: UInt32, moves: [Int64]
    ) throws(ClipFailure) -> ClipTrack {
        let expected = [-hidden..<0] + clips.indices.map { written(of: $0) }
        guard frames.map(\.pts).sorted().elementsEqual(expected.joined().lazy.map { Int64($0) }) else {
            throw ClipFailure("A frame is missing in the result, or there twice; nothing was written.")
        }
        let frame = video.frameRate.timeBase.rescale(1, to: TimeBase(1, Int32(clamping: timescale)))
        var samples = frames
        var clip = 0
        for index in samples.indices {
            let number = Int(samples[index].pts)
            while clip + 1 < clips.count, number >= clips[clip + 1].place { clip += 1 }
            if let places {
                let own = number - clips[clip].place + clips[clip].frames.lowerBound
                samples[index].pts = places[clip] + sources[clips[clip].source].time(own)
            } else {
                samples[index].pts = Int64(number) * frame + (clip < moves.count ? moves[clip] : 0)
            }
            samples[index].duration = frame
        }
        let shown = samples.map(\.pts).sorted()
        let delay = zip(shown, samples).map { $0 - $1.pts }.max() ?? 0
        for index in samples.indices { samples[index].dts = shown[index] - delay }
        return ClipTrack(samples: samples, start: 0)
    }
}
