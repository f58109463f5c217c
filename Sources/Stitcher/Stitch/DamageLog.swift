// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Which frames of which files are not what they were when they were coded: a decoder made them of what is left, or others are
/// shown in their place. Used by one thread.
final class DamageLog {
    private var frames: [(source: StitchSource, numbers: Set<Int>)] = []

    /// Takes note of the frame `number` of `source`, once.
    func note(_ number: Int, of source: StitchSource) {
        guard let place = frames.firstIndex(where: { $0.source.path == source.path }) else {
            return frames.append((source, [number]))
        }
        frames[place].numbers.insert(number)
    }

    /// One sentence for each file.
    var sentences: [String] {
        frames.compactMap { source, numbers in
            guard let first = numbers.min() else { return nil }
            let time = source.video.timeBase.duration(source.time(first) - source.time(0))
            let count = numbers.count == 1 ? "a frame is" : "\(numbers.count) frames are"
            return "\(source.name): \(count) damaged or lost, the first \(DurationText(time)) into it."
        }
    }
}
