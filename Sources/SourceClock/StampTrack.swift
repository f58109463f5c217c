// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Unwraps the timestamps of one track: the sender writes them in ticks that wrap.
struct StampTrack: Sendable, Hashable {
    /// Limit for a timestamp's distance from zero, as in `TimeBase.believed`: a hundred years.
    private static let farthest: Int64 = 100 * 366 * 86_400 * 1_000_000_000

    let timeBase: TimeBase
    /// The number of ticks after which timestamps wrap; nil if they never do.
    private let modulus: Int64?
    /// The last timestamp in unwrapped ticks.
    private var last: Int64?
    /// The correction for the wraps so far, in ticks.
    private var turns: Int64 = 0

    /// A track whose timestamps have `bits` bits: 33 in MPEG-TS (ISO/IEC 13818-1, 2.4.3.7), 32 in RTMP and FLV (Adobe
    /// FLV 10.1, E.4.1); nil or more than 62 if they do not wrap.
    init(timeBase: TimeBase, bits: Int?) {
        self.timeBase = timeBase
        modulus = bits.flatMap { (8...62).contains($0) ? 1 << Int64($0) : nil }
    }

    /// `ticks` in nanoseconds, unwrapped to the value that is nearest to the last timestamp; nil for an impossible
    /// timestamp.
    mutating func unwrap(_ ticks: Int64) -> Int64? {
        guard ticks.magnitude <= 1 << 61 else { return nil }
        let turned = turns(for: ticks)
        let unwrapped = ticks &+ turned
        let time = timeBase.rescale(unwrapped, to: .nanoseconds)
        guard unwrapped.magnitude <= 1 << 61, time.magnitude <= Self.farthest else { return nil }
        (turns, last) = (turned, unwrapped)
        return time
    }

    /// `ticks` in nanoseconds, with the same correction for wraps as the last timestamp. For a presentation time near
    /// its decoding time.
    func beside(_ ticks: Int64) -> Int64? {
        guard ticks.magnitude <= 1 << 61 else { return nil }
        let time = timeBase.rescale(ticks &+ turns(for: ticks), to: .nanoseconds)
        return time.magnitude <= 2 * Self.farthest ? time : nil
    }

    /// A duration of `ticks` in nanoseconds: 0 if it is unknown, at most a minute.
    func length(_ ticks: Int64) -> Int64 { min(60_000_000_000, timeBase.rescale(max(0, ticks), to: .nanoseconds)) }

    /// Makes the next timestamp unwrap to the value nearest to `time` in nanoseconds, which the other track has
    /// reached.
    mutating func join(at time: Int64) {
        guard modulus != nil else { return }
        (last, turns) = (TimeBase.nanoseconds.rescale(time, to: timeBase), 0)
    }

    /// Forgets the last timestamp and the wraps, because the sender has restarted.
    mutating func forget() { (last, turns) = (nil, 0) }

    private func turns(for ticks: Int64) -> Int64 {
        guard let modulus, let last else { return turns }
        let distance = last &- (ticks &+ turns)
        let shifted = distance &+ modulus / 2
        let (quotient, remainder) = shifted.quotientAndRemainder(dividingBy: modulus)
        return turns &+ (remainder < 0 ? quotient - 1 : quotient) &* modulus
    }
}
