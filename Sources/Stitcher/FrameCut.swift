// SPDX-License-Identifier: Apache-2.0

internal import MP4

/// Where the frames of one file can be cut without coding any again. Frames lie in the order of decoding; a cut is
/// clean where all frames before it are also shown before all those behind it.
struct FrameCut {
    private let samples: [IndexedSample]
    /// The latest time in front of each index, and the earliest from it on.
    private let latestBefore: [Int64]
    private let earliestFrom: [Int64]

    init(_ samples: [IndexedSample]) {
        self.samples = samples
        var latest: [Int64] = [.min]
        latest.reserveCapacity(samples.count + 1)
        for sample in samples { latest.append(max(latest[latest.count - 1], sample.pts)) }
        var earliest = [Int64](repeating: .max, count: samples.count + 1)
        for index in samples.indices.reversed() { earliest[index] = min(earliest[index + 1], samples[index].pts) }
        (latestBefore, earliestFrom) = (latest, earliest)
    }

    private func isClean(_ index: Int) -> Bool { latestBefore[index] < earliestFrom[index] }

    /// Whether decoding can start at `index`, and nothing from there on is shown before it.
    private func isEntry(_ index: Int) -> Bool {
        index == samples.count || samples[index].isSync && isClean(index) && samples[index].pts == earliestFrom[index]
    }

    /// The last place at or before the frame shown at `time` where a copy can begin.
    func entry(before time: Int64) -> Int {
        samples.indices.last { isEntry($0) && samples[$0].pts <= time } ?? 0
    }

    /// The first place where a copy can begin that shows nothing before `time`; the end if there is no such place.
    func entry(after time: Int64) -> Int {
        (0...samples.count).first { isEntry($0) && earliestFrom[$0] >= time } ?? samples.count
    }

    /// The first clean cut at or behind `start` that has in front of it every frame that is shown before `time`.
    func exit(after time: Int64, from start: Int) -> Int {
        (start...samples.count).first { isClean($0) && earliestFrom[$0] >= time } ?? samples.count
    }

    /// The last clean cut that has no frame in front of it that is shown at or after `time`. It is never right behind a
    /// keyframe: two keyframes in a row, from two encoders, could not be told apart (ITU-T H.264, 7.4.1.2.4:
    /// idr_pic_id).
    func exit(before time: Int64, from start: Int) -> Int {
        let cut = end(before: time, from: start)
        return cut > start && samples[cut - 1].isSync ? cut - 1 : cut
    }

    /// The last clean cut at or behind `start` before which nothing is shown at or after `time`.
    func end(before time: Int64, from start: Int) -> Int {
        (start...samples.count).last { isClean($0) && ($0 == start || latestBefore[$0] < time) } ?? start
    }

    /// The earliest time that is shown of `range`, if any is.
    func earliest(_ range: Range<Int>) -> Int64? { samples[range].map(\.pts).min() }

    /// The latest time that is shown of `range`, if any is.
    func latest(_ range: Range<Int>) -> Int64? { samples[range].map(\.pts).max() }
}
