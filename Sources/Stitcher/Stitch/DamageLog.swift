// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Lists the frames of files that could not be shown as they were encoded: a decoder concealed damage in them, or
/// another frame was shown in their place. Used by one thread.
final class DamageLog {
    private var frames: [(source: StitchSource, numbers: Set<Int>)] = []

    /// Adds the frame `number` of `source`, unless it is in the list.
    func note(_ number: Int, of source: StitchSource) {
        guard let place = frames.firstIndex(where: { $0.source.path == source.path }) else {
            return frames.append((source, [number]))
        }
        frames[place].numbers.insert(number)
    }

    /// One sentence for each file with damaged frames.
    var sentences: [String] {
        frames.compactMap { source, numbers in
            guard let first = numbers.min() else { return nil }
            let time = source.video.timeBase.duration(source.time(first) - source.time(0))
            let count = numbers.count == 1 ? "a frame is" : "\(numbers.count) frames are"
            return "\(source.name): \(count) damaged or lost, the first \(DurationText(time)) into it."
        }
    }
}
