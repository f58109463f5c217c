// SPDX-License-Identifier: Apache-2.0

internal import MP4

/// The byte ranges of a file that a clip copies, merged to as few runs as possible. A run contains only the bytes of
/// its samples.
struct CopyRuns {
    /// A contiguous range of bytes, and the numbers of the frames and of the audio packets in it.
    struct Run: Equatable {
        var bytes: Range<Int64>
        var frames: Range<Int>
        var audio: Range<Int>
    }

    private(set) var runs: [Run] = []

    /// The runs that contain the frames `frames` of `video` and the packets `audio` of `packets`. `video` and `packets`
    /// are in decoding order. Each run has at most `limit` frames.
    init(
        _ video: [IndexedSample], _ packets: [IndexedSample], frames: Range<Int>, audio: Range<Int>, limit: Int = .max
    ) {
        var (nextFrame, nextPacket) = (0, 0)
        var isBroken = true
        while nextFrame < video.count || nextPacket < packets.count {
            let isVideo =
                nextPacket == packets.count
                || nextFrame < video.count && video[nextFrame].offset < packets[nextPacket].offset
            let sample = isVideo ? video[nextFrame] : packets[nextPacket]
            if isVideo, let last = runs.last, last.frames.count >= limit { isBroken = true }
            if isVideo ? frames.contains(nextFrame) : audio.contains(nextPacket) {
                if isBroken || sample.offset != runs.last?.bytes.upperBound {
                    runs.append(
                        Run(
                            bytes: sample.offset..<sample.offset, frames: nextFrame..<nextFrame,
                            audio: nextPacket..<nextPacket))
                }
                extend(to: sample.offset + sample.size, isVideo: isVideo)
                isBroken = false
            } else {
                isBroken = true
            }
            if isVideo { nextFrame += 1 } else { nextPacket += 1 }
        }
    }

    private mutating func extend(to end: Int64, isVideo: Bool) {
        let last = runs.count - 1
        runs[last].bytes = runs[last].bytes.lowerBound..<end
        if isVideo {
            runs[last].frames = runs[last].frames.lowerBound..<(runs[last].frames.upperBound + 1)
        } else {
            runs[last].audio = runs[last].audio.lowerBound..<(runs[last].audio.upperBound + 1)
        }
    }
}
