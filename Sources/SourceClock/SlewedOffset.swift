// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The offset from a source's times to the moments at which they are due. It changes so slowly that the change cannot
/// be seen or heard.
///
/// Its rate is at most 1000 ppm, and changes by at most 20 ppm per second, or 40 while the offset is new. So the
/// mapping is a straight line for the length of a buffer, and audio, which is resampled to follow it, stays in sync.
struct SlewedOffset: Sendable, Hashable {
    /// How the offset follows its target.
    struct Pull: Sendable {
        /// The time constant, in nanoseconds, with which an error is corrected.
        let time: Double
        /// Limit for the offset's rate, relative to the sender's rate.
        let limit: Double
        /// Limit for the change of the offset's rate, per second.
        var acceleration = 20e-6

        /// Used while the sender's rate is an estimate.
        static let guessing = Pull(time: 10e9, limit: 700e-6, acceleration: 40e-6)
        /// Used while an error may still come from that estimate.
        static let new = Pull(time: 15e9, limit: 300e-6, acceleration: 40e-6)
        /// Used afterwards.
        static let usual = Pull(time: 60e9, limit: 150e-6)
        /// Used for a target that may be far away.
        static let far = Pull(time: 60e9, limit: 500e-6)
    }

    private static let highestRate = 1000e-6

    private var offset: FineTime
    private var at: Int64
    /// The rate at which the offset grows: the stretch of the source's media.
    private(set) var rate: Double

    /// An offset that is `offset` nanoseconds at the moment `now`, and grows by `rate`.
    init(_ offset: Int64, at now: Int64, rate: Double = 0) {
        self.offset = FineTime(offset)
        self.rate = rate
        at = now
    }

    /// The offset at its last update, in nanoseconds.
    var value: Int64 { offset.whole }

    /// Moves the offset to its value at `now`, towards `target`, which itself moves by `senderRate`.
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

    /// Adds `nanoseconds` to the offset at once.
    mutating func step(by nanoseconds: Int64) { offset.add(nanoseconds) }

    /// The moment at which a source's time is due if the offset keeps its present rate: due = time + offset(due).
    func due(_ time: Int64) -> Int64 {
        let distance = time &+ offset.whole &- at
        return at &+ distance &+ Int64((Double(distance) * rate / (1 - rate)).rounded())
    }

    /// ``due(_:)`` as a line that converts the source's time to our clock.
    var line: ClockLine {
        ClockLine(
            origin: Timestamp(nanoseconds: at &- offset.whole), image: Timestamp(nanoseconds: at),
            rate: rate / (1 - rate))
    }
}
