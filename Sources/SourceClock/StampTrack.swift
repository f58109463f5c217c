// SPDX-License-Identifier: Apache-2.0

internal import Media

/// One track's stamps as the sender writes them, in ticks that wrap, as one count that does not.
struct StampTrack: Sendable, Hashable {
    /// How far from zero a stamp may be, as with `TimeBase.believed`: a hundred years.
    private static let farthest: Int64 = 100 * 366 * 86_400 * 1_000_000_000

    let timeBase: TimeBase
    /// The number of ticks after which stamps begin again; nil if they never do.
    private let modulus: Int64?
    /// The last stamp in unwrapped ticks.
    private var last: Int64?
    /// What was added to the stamps for the wraps so far, in ticks.
    private var turns: Int64 = 0

    /// A track whose stamps have `bits` bits: 33 in MPEG-TS (ISO/IEC 13818-1, 2.4.3.7), 32 in RTMP and FLV (Adobe FLV
    /// 10.1, E.4.1); nil or more than 62 for stamps that do not wrap.
    init(timeBase: TimeBase, bits: Int?) {
        self.timeBase = timeBase
        modulus = bits.flatMap { (8...62).contains($0) ? 1 << Int64($0) : nil }
    }

    /// `ticks` in nanoseconds, in the turn that is nearest to the last stamp; nil for a stamp no sender can mean.
    mutating func unwrap(_ ticks: Int64) -> Int64? {
        guard ticks.magnitude <= 1 << 61 else { return nil }
        let turned = turns(for: ticks)
        let unwrapped = ticks &+ turned
        let time = timeBase.rescale(unwrapped, to: .nanoseconds)
        guard unwrapped.magnitude <= 1 << 61, time.magnitude <= Self.farthest else { return nil }
        (turns, last) = (turned, unwrapped)
        return time
    }

    /// `ticks` in nanoseconds in the turn of the last stamp; for a presentation time beside its decoding time.
    func beside(_ ticks: Int64) -> Int64? {
        guard ticks.magnitude <= 1 << 61 else { return nil }
        let time = timeBase.rescale(ticks &+ turns(for: ticks), to: .nanoseconds)
        return time.magnitude <= 2 * Self.farthest ? time : nil
    }

    /// `ticks` of duration in nanoseconds: 0 if it is not known, and a minute at most.
    func length(_ ticks: Int64) -> Int64 {
        min(60_000_000_000, timeBase.rescale(max(0, ticks), to: .nanoseconds))
    }

    /// Makes the next stamp unwrap to the turn nearest to `time`, in nanoseconds: another track is there.
    mutating func join(at time: Int64) {
        guard modulus != nil else { return }
        (last, turns) = (TimeBase.nanoseconds.rescale(time, to: timeBase), 0)
    }

    /// Forgets the last stamp and the turns, because the sender begins again.
    mutating func forget() { (last, turns) = (nil, 0) }

    private func turns(for ticks: Int64) -> Int64 {
        guard let modulus, let last else { return turns }
        let distance = last &- (ticks &+ turns)
        let shifted = distance &+ modulus / 2
        let (quotient, remainder) = shifted.quotientAndRemainder(dividingBy: modulus)
        return turns &+ (remainder < 0 ? quotient - 1 : quotient) &* modulus
    }
}
