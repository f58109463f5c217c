// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The frame rate that fits given frame times, and whether all frames are at the times that this rate requires.
struct FrameTiming: Equatable {
    /// Frames per second; if the rate varies, the nearest standard rate.
    let rate: FrameRate
    /// Whether each frame is at the time that the rate requires, apart from the container's rounding.
    let isConstant: Bool

    /// The timing of frames at `times`, which are in order and in ticks of `base`. `average` is the frame rate that the
    /// container gives.
    init(_ times: [Int64], _ base: TimeBase, average: FrameRate?) {
        let stated = NominalRate.of(average: average, base: nil)
        guard let first = times.first, let last = times.last, last > first else {
            self.init(rate: stated, isConstant: true)
            return
        }
        let steps = Double(times.count - 1)
        let mean = steps * Double(base.denominator) / (Double(last - first) * Double(base.numerator))
        let standard = NominalRate.standard.filter { abs($0.value - mean) < mean / 25 }
            .sorted { abs($0.value - mean) < abs($1.value - mean) }
        let likely = [average].compactMap(\.self).filter { NominalRate.standard.contains($0) }
        for rate in likely + standard + Self.own(times, base) {
            if Self.keeps(rate, times, base) {
                self.init(rate: rate, isConstant: true)
                return
            }
        }
        self.init(rate: standard.first ?? stated, isConstant: false)
    }

    /// At most this many frames at the end of a file can refer to frames that the file no longer contains, because a
    /// decoder cannot keep more frames for reordering (ITU-T H.264, A.3.1).
    private static let reorderLimit = 16

    /// The number of usable frames, and their timing. If all frames before a gap have a constant rate and only a few
    /// frames follow the gap, these few are not usable: in such a file, frames at the end are missing.
    static func whole(_ times: [Int64], _ base: TimeBase, average: FrameRate?) -> (count: Int, timing: FrameTiming) {
        let timing = FrameTiming(times, base, average: average)
        let frame = timing.rate.timeBase.rescale(1, to: base)
        guard !timing.isConstant,
            let gap = times.indices.dropFirst().last(where: { times[$0] - times[$0 - 1] > frame + frame / 2 }),
            times.count - gap <= reorderLimit
        else { return (times.count, timing) }
        let rest = FrameTiming(Array(times[..<gap]), base, average: average)
        return rest.isConstant && gap > 1 ? (gap, rest) : (times.count, timing)
    }

    private init(rate: FrameRate, isConstant: Bool) { (self.rate, self.isConstant) = (rate, isConstant) }

    /// The rate that is calculated from the distance between the first two frames, for files without a standard rate.
    private static func own(_ times: [Int64], _ base: TimeBase) -> [FrameRate] {
        let step = Int128(times[1] - times[0]) * Int128(base.numerator)
        guard step > 0, step <= Int128(Int32.max), base.denominator / 1000 <= step else { return [] }
        return [FrameRate(base.denominator, Int32(step))]
    }

    private static func keeps(_ rate: FrameRate, _ times: [Int64], _ base: TimeBase) -> Bool {
        let tolerance = base.ticks(.milliseconds(1))
        return times.indices.allSatisfy { index in
            let due = times[0] + rate.timeBase.rescale(Int64(index), to: base)
            return abs(times[index] - due) <= tolerance
        }
    }
}
