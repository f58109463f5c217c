// SPDX-License-Identifier: Apache-2.0

/// Turns what outputs have sent, looked at again and again, into delays. Pure.
///
/// An output's frames are counted from its own start, so the difference to those published is learnt first: it is
/// the least difference seen.
struct DelayProbe {
    private var behind: [Int]
    private var last: [Int?]
    private var seen: [[(frame: Int, at: Int64)]]
    private var times: [Int: Int64] = [:]

    init(outputs: Int) {
        behind = Array(repeating: .max, count: outputs)
        last = Array(repeating: nil, count: outputs)
        seen = Array(repeating: [], count: outputs)
    }

    /// Output `index` had sent `sent` frames when the clock showed `now`, or a little before.
    mutating func note(sent: Int, by index: Int, at now: Int64, published: Feed.Published) {
        // Before its start it sends nothing, and is not behind yet.
        if sent > 0 { behind[index] = min(behind[index], published.count - sent) }
        for frame in max(0, published.count - 4)..<published.count {
            times[frame] = published.times[frame % Feed.Published.kept]
        }
        defer { last[index] = sent }
        guard let previous = last[index], sent > previous else { return }
        for frame in previous..<sent { seen[index].append((frame, now)) }
    }

    /// The delays of all frames seen; nil if no frame was seen.
    var result: Measurement.Delay? {
        var delays: [Int64] = []
        for index in seen.indices {
            for (frame, at) in seen[index] {
                // The first frame sent has number 0, and number `behind` among those published.
                if let published = times[frame + behind[index]] { delays.append(at - published) }
            }
        }
        guard !delays.isEmpty else { return nil }
        delays.sort()
        func quantile(_ part: Double) -> Double { Double(delays[Int(Double(delays.count - 1) * part)]) / 1e6 }
        return Measurement.Delay(
            median: quantile(0.5), percentile99: quantile(0.99), maximum: quantile(1), samples: delays.count)
    }
}
