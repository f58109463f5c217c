// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Gives packets of audio times in samples if their stamps are rounded to ticks that are longer than a sample, such as
/// milliseconds.
///
/// A packet directly follows the packet before it as long as this place is within half a tick of its stamp, which is
/// the most that rounding can explain. Up to a tick further away, the packet is moved to the edge of that half tick, so
/// that a sender's drift is followed. Beyond that, the packet gets the time of its stamp. This is what
/// `av_rescale_delta` of libavutil does.
struct SampleTimes {
    /// The end of the packet before, in samples.
    private var end: Int64?

    /// The time in samples of a packet whose stamp, `nanoseconds`, was rounded to `tick`.
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
