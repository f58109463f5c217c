// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Gives audio packets times in samples if their timestamps were rounded to ticks that are longer than a sample, such
/// as milliseconds.
///
/// A packet directly follows the previous packet if that position is within half a tick of the packet's timestamp,
/// which is the maximum that rounding can explain. If the position is up to one tick further away, the packet is moved
/// to the nearest time within half a tick of its timestamp, so that a sender's drift is followed. If it is even further
/// away, the packet gets the time of its timestamp. `av_rescale_delta` of libavutil does the same.
struct SampleTimes {
    /// The end of the previous packet, in samples.
    private var end: Int64?

    /// The time in samples of a packet whose timestamp, `nanoseconds`, was rounded to `tick`.
    mutating func place(_ nanoseconds: Int64, roundedTo tick: TimeBase, rate: TimeBase, lasting samples: Int64) -> Int64
    {
        let time = position(nanoseconds, tick, rate)
        end = samples > 0 ? time + samples : nil
        return time
    }

    private func position(_ nanoseconds: Int64, _ tick: TimeBase, _ rate: TimeBase) -> Int64 {
        let half = tick.rescale(1, to: .nanoseconds) / 2
        let stated = TimeBase.nanoseconds.rescale(nanoseconds, to: rate)
        guard let end, tick.isLonger(than: rate) else { return stated }
        let first = TimeBase.nanoseconds.rescale(nanoseconds - half, to: rate, rounding: .down)
        let last = TimeBase.nanoseconds.rescale(nanoseconds + half, to: rate, rounding: .up)
        let reach = last - first
        return (first - reach...last + reach).contains(end) ? min(max(end, first), last) : stated
    }
}

extension TimeBase {
    fileprivate func isLonger(than other: TimeBase) -> Bool {
        Int64(numerator) * Int64(other.denominator) > Int64(other.numerator) * Int64(denominator)
    }
}
