// SPDX-License-Identifier: Apache-2.0

internal import Media

/// What is added to a source's times to get the moment they are due. It moves so slowly that the change is neither seen
/// nor heard.
///
/// It moves at most 1000 ppm, and that rate changes by at most 20 ppm in a second, or 40 as long as it is new, so the map
/// stays a straight line for as far as a buffer reaches, and audio, which is resampled to follow it, stays with it.
struct SlewedOffset: Sendable, Hashable {
    /// How it follows its target.
    struct Pull: Sendable {
        /// In how many nanoseconds an error is pulled in, if it stays as it is.
        let time: Double
        /// How much faster than the sender's rate it moves at most.
        let limit: Double
        /// How fast its rate changes at most, in a second.
        var acceleration = 20e-6

        /// While the sender's rate is a guess.
        static let guessing = Pull(time: 10e9, limit: 700e-6, acceleration: 40e-6)
        /// While the error may be what the guess left.
        static let new = Pull(time: 15e9, limit: 300e-6, acceleration: 40e-6)
        /// From then on.
        static let usual = Pull(time: 60e9, limit: 150e-6)
        /// Towards a target that may be far.
        static let far = Pull(time: 60e9, limit: 500e-6)
    }

    private static let highestRate = 1000e-6

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

    /// Moves the offset up to `now`, towards `target`, which moves by `senderRate` by itself.
    mutating func advance(to now: Int64, target: Int64, senderRate: Double, _ pull: Pull) {
        guard now > at else { return }
        let elapsed = Double(now &- at)
        at = now
        let pulled = min(pull.limit, max(-pull.limit, Double(target &- offset.whole) / pull.time))
        let wanted = min(Self.highestRate, max(-Self.highestRate, senderRate + pulled))
        let change = pull.acceleration / 1e9 * elapsed
        let before = rate
        rate += min(change, max(-change, wanted - rate))
        offset.add((before + rate) / 2 * elapsed)
    }

    /// Moves the offset at once.
    mutating func step(by nanoseconds: Int64) { offset.add(nanoseconds) }

    /// When a source's time is due if the offset continues to move as it does now: due = time + offset(due).
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
