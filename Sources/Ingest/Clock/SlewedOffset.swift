// SPDX-License-Identifier: Apache-2.0

internal import Media

/// What is added to a source's times to get the moment they are due, moved so slowly that nobody sees or hears it.
///
/// It moves at most 1000 ppm, and that rate changes by at most 20 ppm in a second, so the map stays a straight line for
/// as far as a buffer reaches.
struct SlewedOffset: Sendable, Hashable {
    private static let highestRate = 1000e-6
    /// How fast the rate changes, for each nanosecond.
    private static let acceleration = 20e-6 / 1e9

    private var offset: FineTime
    private var at: Int64
    /// How fast the offset grows: the rate by which the source's media are stretched.
    private(set) var rate: Double

    /// `offset` nanoseconds, from the moment `now` on, growing by `rate`.
    init(_ offset: Int64, at now: Int64, rate: Double = 0) {
        self.offset = FineTime(offset)
        self.rate = rate
        at = now
    }

    /// The offset when it was last moved, in nanoseconds.
    var value: Int64 { offset.whole }

    /// Moves the offset up to `now`, towards `target`. `senderRate` is how fast the target moves by itself; while that
    /// is not known (nil), errors are pulled in faster; so are large ones of a target that may be far, as `isFar` says.
    mutating func advance(to now: Int64, target: Int64, senderRate: Double?, isFar: Bool = false) {
        guard now > at else { return }
        let elapsed = Double(now &- at)
        at = now
        let (time, limit) = senderRate == nil ? (10e9, 700e-6) : (60e9, isFar ? 500e-6 : 150e-6)
        let pull = min(limit, max(-limit, Double(target &- offset.whole) / time))
        let wanted = min(Self.highestRate, max(-Self.highestRate, (senderRate ?? 0) + pull))
        let change = Self.acceleration * elapsed
        let before = rate
        rate += min(change, max(-change, wanted - rate))
        offset.add((before + rate) / 2 * elapsed)
    }

    /// Moves the offset at once.
    mutating func step(by nanoseconds: Int64) { offset.add(nanoseconds) }

    /// When a source's time is due, if the offset goes on as it does: due = time + offset(due).
    func due(_ time: Int64) -> Int64 {
        let distance = time &+ offset.whole &- at
        return at &+ distance &+ Int64((Double(distance) * rate / (1 - rate)).rounded())
    }

    /// ``due(_:)`` as a line from the source's time to ours.
    var line: ClockLine {
        ClockLine(
            origin: Timestamp(nanoseconds: at &- offset.whole), image: Timestamp(nanoseconds: at),
            rate: rate / (1 - rate))
    }
}
