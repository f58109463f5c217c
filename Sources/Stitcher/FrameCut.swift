// SPDX-License-Identifier: Apache-2.0

internal import MP4

/// Finds where the frames of one file can be cut without re-encoding. Frames are in decoding order. A cut is clean if
/// all frames before it are also shown before all frames after it.
struct FrameCut {
    private let samples: [IndexedSample]
    /// For each index, `latestBefore` has the latest presentation time of the frames before that index, and
    /// `earliestFrom` the earliest presentation time of the frames from that index on.
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

    /// Whether decoding can start at the frame `index`, and all later frames in decoding order are also shown later.
    private func isEntry(_ index: Int) -> Bool {
        index == samples.count || samples[index].isSync && isClean(index) && samples[index].pts == earliestFrom[index]
    }

    /// The last index at which a copy can begin and whose frame is shown no later than `time`; 0 if there is no such
    /// index.
    func entry(before time: Int64) -> Int {
        samples.indices.last { isEntry($0) && samples[$0].pts <= time } ?? 0
    }

    /// The first index at which a copy can begin without showing a frame earlier than `time`; the number of frames if
    /// there is no such index.
    func entry(after time: Int64) -> Int {
        (0...samples.count).first { isEntry($0) && earliestFrom[$0] >= time } ?? samples.count
    }

    /// The first clean cut, at or after `start`, such that all frames that are shown earlier than `time` are before the
    /// cut.
    func exit(after time: Int64, from start: Int) -> Int {
        (start...samples.count).first { isClean($0) && earliestFrom[$0] >= time } ?? samples.count
    }

    /// The last clean cut, at or after `start`, such that all frames before the cut are shown earlier than `time`. The
    /// cut is never directly after a keyframe. The encoded frames after the cut begin with a keyframe, and a decoder
    /// cannot always distinguish two keyframes in a row if they come from two encoders (ITU-T H.264, 7.4.1.2.4:
    /// idr_pic_id).
    func exit(before time: Int64, from start: Int) -> Int {
        let cut = end(before: time, from: start)
        return cut > start && samples[cut - 1].isSync ? cut - 1 : cut
    }

    /// The last clean cut at or after `start` before which all frames are shown earlier than `time`.
    func end(before time: Int64, from start: Int) -> Int {
        (start...samples.count).last { isClean($0) && ($0 == start || latestBefore[$0] < time) } ?? start
    }

    /// The earliest time at which a frame of `range` is shown; nil if `range` is empty.
    func earliest(_ range: Range<Int>) -> Int64? { samples[range].map(\.pts).min() }

    /// The latest time at which a frame of `range` is shown; nil if `range` is empty.
    func latest(_ range: Range<Int>) -> Int64? { samples[range].map(\.pts).max() }
}
