// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Measures the frame rate of a publisher that announces none, from the decoding times of its first frames.
///
/// Within half a second, timestamps in milliseconds cannot distinguish 29.97 from 30 frames a second, so the integer
/// rate is assumed. The program follows the sender's clock, which compensates for the difference; see `ReferenceClock`.
struct FrameRateMeter {
    /// Number of intervals between frames that are measured.
    static let intervals = 12
    /// The minimum number of intervals for a result: with fewer, a single missing frame would falsify it.
    private static let fewest = 3
    /// How far the measured rate is allowed to be from a usual rate, as a fraction of the usual rate. The closest usual
    /// rates are 4 % apart.
    private static let tolerance = 0.02

    private var last: Int64?
    private var steps: [Int64] = []

    /// Whether all intervals are measured.
    var isDone: Bool { steps.count >= Self.intervals }

    /// Takes the decoding time of the next frame, in milliseconds. Ignores the interval from the previous frame if it
    /// is not positive, or if it is a second or longer.
    mutating func note(_ time: Int64) {
        guard !isDone else { return }
        let step = last.map { time - $0 } ?? 0
        last = time
        if (1..<1000).contains(step) { steps.append(step) }
    }

    /// The usual frame rate that fits the intervals measured so far; nil if none fits, or if there are too few
    /// intervals.
    var rate: FrameRate? {
        guard steps.count >= Self.fewest else { return nil }
        let median = steps.sorted()[steps.count / 2]
        // A frame that the sender left out makes one interval as long as two.
        let frames = steps.reduce(0) { $0 + max(1, ($1 + median / 2) / median) }
        let measured = Double(frames) * 1000 / Double(steps.reduce(0, +))
        let usual = NominalRate.standard.filter { $0.denominator < 1001 }
        guard let nearest = usual.min(by: { abs($0.value - measured) < abs($1.value - measured) }) else { return nil }
        return abs(nearest.value - measured) <= nearest.value * Self.tolerance ? nearest : nil
    }
}
