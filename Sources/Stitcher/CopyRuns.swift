// SPDX-License-Identifier: Apache-2.0

internal import MP4

/// The bytes of a file that a clip takes, in as few runs as possible. Between two samples of a run may lie what the
/// container needs, but no sample that is not taken.
struct CopyRuns {
    /// Bytes one behind the other, and the samples in them, by their numbers.
    struct Run: Equatable {
        var bytes: Range<Int64>
        var frames: Range<Int>
        var audio: Range<Int>
    }

    private(set) var runs: [Run] = []

    /// More than a container needs between two samples.
    private static let largestHole: Int64 = 64 << 10

    /// The runs of `frames` and `audio` of `source`, both of whose tracks lie in the order of decoding.
    init(_ source: ClipSource, frames: Range<Int>, audio: Range<Int>) {
        var (nextFrame, nextPacket) = (0, 0)
        var isBroken = true
        while nextFrame < source.video.count || nextPacket < source.audio.count {
            let isVideo =
                nextPacket == source.audio.count
                || nextFrame < source.video.count && source.video[nextFrame].offset < source.audio[nextPacket].offset
            let sample = isVideo ? source.video[nextFrame] : source.audio[nextPacket]
            if isVideo ? frames.contains(nextFrame) : audio.contains(nextPacket) {
                let hole = sample.offset - (runs.last?.bytes.upperBound ?? 0)
                if isBroken || hole > Self.largestHole || hole < 0 {
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
