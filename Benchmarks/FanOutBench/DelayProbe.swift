// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Computes delays from the numbers of frames that outputs have sent, which are read again and again. Pure.
///
/// An output counts its frames from its own start. The difference between its count and the number of published frames
/// must therefore be found first: it is the smallest difference that was seen.
struct DelayProbe {
    private var behind: [Int]
    private var last: [Int?]
    private var seen: [[(frame: Int, at: MonotonicInstant)]]
    private var times: [Int: MonotonicInstant] = [:]

    init(outputs: Int) {
        behind = Array(repeating: .max, count: outputs)
        last = Array(repeating: nil, count: outputs)
        seen = Array(repeating: [], count: outputs)
    }

    /// Records that output `index` had sent `sent` frames at the time `now`, or a little earlier.
    mutating func note(sent: Int, by index: Int, at now: MonotonicInstant, published: Feed.Published) {
        // Before its start, an output sends nothing, and is not behind yet.
        if sent > 0 { behind[index] = min(behind[index], published.count - sent) }
        for frame in max(0, published.count - 4)..<published.count {
            times[frame] = published.times[frame % Feed.Published.kept]
        }
        defer { last[index] = sent }
        guard let previous = last[index], sent > previous else { return }
        for frame in previous..<sent { seen[index].append((frame, now)) }
    }

    /// The delays of all frames that were seen; nil if no frame was seen.
    var result: Measurement.Delay? {
        var delays: [Duration] = []
        for index in seen.indices {
            for (frame, at) in seen[index] {
                // The first frame that the output sent has number 0 there, and number `behind` among the published
                // frames.
                if let published = times[frame + behind[index]] { delays.append(at - published) }
            }
        }
        guard !delays.isEmpty else { return nil }
        delays.sort()
        func quantile(_ part: Double) -> Double { delays[Int(Double(delays.count - 1) * part)] / .milliseconds(1) }
        return Measurement.Delay(
            median: quantile(0.5), percentile99: quantile(0.99), maximum: quantile(1), samples: delays.count)
    }
}
