// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import MP4
internal import Media

extension StitchInspector {
    /// The packets of the video, in which frame numbers replace the times.
    private struct Numbers {
        var samples: [IndexedSample]
        /// The times of the visible frames, in order.
        var times: [Int64] = []
        /// Whether hidden frames are between visible ones.
        var isPieced = false
        /// The number of frames at the beginning that no edit list hides but that cannot be decoded.
        var headless = 0
    }

    func videoTrack() throws(ClipFailure) -> StitchSource.Video {
        let numbers = numbered()
        let all = numbers.times
        let whole = FrameTiming.whole(all, video.timeBase, average: frames.averageRate)
        let (times, timing) = (Array(all[..<whole.count]), whole.timing)
        guard let last = times.last else { throw ClipFailure("\(name) has no frame that can be decoded.") }
        let frame = timing.rate.timeBase.rescale(1, to: video.timeBase)
        let stated = packets.first { $0.sample.pts == last }?.sample.duration ?? 0
        return StitchSource.Video(
            stream: video.index, codec: video.codecName,
            frames: FrameFormat(
                width: frames.width, height: frames.height, sampleAspectRatio: frames.sampleAspectRatio ?? .square,
                color: frames.color),
            orientation: frames.orientation, isInterlaced: frames.isInterlaced,
            configuration: configuration, obstacle: obstacle(isPieced: numbers.isPieced),
            isDemuxed: !isMovie, units: units, is8Bit420: sets?.is8Bit420 ?? true, timeBase: video.timeBase,
            samples: numbers.samples, times: times,
            end: last + (timing.isConstant || stated <= 0 ? max(1, frame) : stated), rate: timing.rate,
            isConstant: timing.isConstant, headless: numbers.headless, torn: all.count - times.count,
            openEntries: Set(packets.indices.filter { packets[$0].isEntry && !packets[$0].sample.isSync }),
            dependentKeyframes: dependentKeyframes)
    }

    /// Numbers the visible frames. A frame is not visible if an edit list hides it, or if it cannot be decoded because
    /// the file begins in the middle of a GOP. A hidden frame between two visible pieces gets the number of the next
    /// visible frame.
    private func numbered() -> Numbers {
        let entry = packets.firstIndex(where: \.isEntry) ?? 0
        let start = packets.isEmpty ? 0 : packets[entry].sample.pts
        func isShown(_ index: Int) -> Bool {
            !packets[index].isHidden && index >= entry && packets[index].sample.pts >= start
        }
        let order = packets.indices.sorted {
            (packets[$0].sample.pts, $0) < (packets[$1].sample.pts, $1)
        }
        let first = order.firstIndex(where: isShown) ?? order.count
        let last = order.lastIndex(where: isShown) ?? order.count
        var numbers = Numbers(samples: packets.map(\.sample))
        for (rank, index) in order.enumerated() {
            let number: Int
            if rank < first {
                number = rank - first
                if !packets[index].isHidden { numbers.headless += 1 }
            } else if isShown(index) {
                number = numbers.times.count
                numbers.times.append(packets[index].sample.pts)
            } else {
                number = numbers.times.count + max(0, rank - last - 1)
                if rank < last { numbers.isPieced = true }
            }
            numbers.samples[index].pts = Int64(number)
        }
        return numbers
    }
}
