// SPDX-License-Identifier: Apache-2.0

internal import Segmenter

/// The bytes of a file that a clip takes, in as few runs as possible. Between two samples of a run may lie what the
/// container needs, but no sample that is not taken.
struct CopyRuns {
    /// Bytes one behind the other, and the samples in them, by their numbers.
    struct Run: Equatable {
        var bytes: Range<Int64>
        var pictures: Range<Int>
        var sounds: Range<Int>
    }

    private(set) var runs: [Run] = []

    /// More than a container needs between two samples.
    private static let largestHole: Int64 = 64 << 10

    /// The runs of `pictures` and `sounds` of `source`, both of whose tracks lie in the order of decoding.
    init(_ source: ClipSource, pictures: Range<Int>, sounds: Range<Int>) {
        var (picture, sound) = (0, 0)
        var isBroken = true
        while picture < source.pictures.count || sound < source.sounds.count {
            let isPicture =
                sound == source.sounds.count
                || picture < source.pictures.count && source.pictures[picture].offset < source.sounds[sound].offset
            let sample = isPicture ? source.pictures[picture] : source.sounds[sound]
            if isPicture ? pictures.contains(picture) : sounds.contains(sound) {
                let hole = sample.offset - (runs.last?.bytes.upperBound ?? 0)
                if isBroken || hole > Self.largestHole || hole < 0 {
                    runs.append(
                        Run(
                            bytes: sample.offset..<sample.offset, pictures: picture..<picture, sounds: sound..<sound))
                }
                extend(to: sample.offset + sample.size, isPicture: isPicture)
                isBroken = false
            } else {
                isBroken = true
            }
            if isPicture { picture += 1 } else { sound += 1 }
        }
    }

    private mutating func extend(to end: Int64, isPicture: Bool) {
        let last = runs.count - 1
        runs[last].bytes = runs[last].bytes.lowerBound..<end
        if isPicture {
            runs[last].pictures = runs[last].pictures.lowerBound..<(runs[last].pictures.upperBound + 1)
        } else {
            runs[last].sounds = runs[last].sounds.lowerBound..<(runs[last].sounds.upperBound + 1)
        }
    }
}
