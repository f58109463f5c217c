// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Unwraps the timestamps of one track. The sender writes timestamps as ticks. In most formats they have a fixed number
/// of bits, and wrap to 0 after the largest value.
struct StampTrack: Sendable, Hashable {
    /// The largest timestamp that is accepted, positive or negative, in nanoseconds: a hundred years, as in
    /// `TimeBase.believed`.
    private static let farthest: Int64 = 100 * 366 * 86_400 * 1_000_000_000

    let timeBase: TimeBase
    /// The number of ticks after which timestamps wrap; nil if they never wrap.
    private let modulus: Int64?
    /// The last timestamp, in unwrapped ticks; nil before the first one.
    private var last: Int64?
    /// The sum of all wraps so far, in ticks. It is added to the sender's timestamps.
    private var turns: Int64 = 0

    /// Creates a track whose timestamps have `bits` bits: 33 in MPEG-TS (ISO/IEC 13818-1, 2.4.3.7), 32 in RTMP and FLV
    /// (Adobe FLV 10.1, E.4.1). Timestamps do not wrap if `bits` is nil or outside of 8 to 62.
    init(timeBase: TimeBase, bits: Int?) {
        self.timeBase = timeBase
        modulus = bits.flatMap { (8...62).contains($0) ? 1 << Int64($0) : nil }
    }

    /// The time of the timestamp `ticks`, unwrapped to the value that is nearest to the last timestamp; nil for an
    /// impossible timestamp.
    mutating func unwrap(_ ticks: Int64) -> Timestamp? {
        guard ticks.magnitude <= 1 << 61 else { return nil }
        let turned = turns(for: ticks)
        let unwrapped = ticks &+ turned
        let time = Timestamp(unwrapped, in: timeBase)
        guard unwrapped.magnitude <= 1 << 61, time.nanoseconds.magnitude <= Self.farthest else { return nil }
        (turns, last) = (turned, unwrapped)
        return time
    }

    /// A packet's presentation time, unwrapped to the value that is nearest to the packet's decoding time; nil for an
    /// impossible timestamp. Must be called after ``unwrap(_:)`` with that decoding time.
    /// Changes no state.
    func beside(_ ticks: Int64) -> Timestamp? {
        guard ticks.magnitude <= 1 << 61 else { return nil }
        let time = Timestamp(ticks &+ turns(for: ticks), in: timeBase)
        return time.nanoseconds.magnitude <= 2 * Self.farthest ? time : nil
    }

    /// The duration of `ticks`: 0 if it is unknown, and at most a minute.
    func length(_ ticks: Int64) -> Duration { min(.seconds(60), timeBase.duration(max(0, ticks))) }

    /// Makes the next timestamp unwrap to the value that is nearest to `time`, the other track's last time.
    mutating func join(at time: Timestamp) {
        guard modulus != nil else { return }
        (last, turns) = (TimeBase.nanoseconds.rescale(time.nanoseconds, to: timeBase), 0)
    }

    /// Forgets the last timestamp and all wraps, because the sender has restarted.
    mutating func forget() { (last, turns) = (nil, 0) }

    private func turns(for ticks: Int64) -> Int64 {
        guard let modulus, let last else { return turns }
        let distance = last &- (ticks &+ turns)
        let shifted = distance &+ modulus / 2
        let (quotient, remainder) = shifted.quotientAndRemainder(dividingBy: modulus)
        return turns &+ (remainder < 0 ? quotient - 1 : quotient) &* modulus
    }
}
