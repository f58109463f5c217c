// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The offset from a source's media times to the moments on our clock at which the media is due. The offset changes so
/// slowly that viewers do not see or hear the change.
///
/// The offset grows or shrinks by at most 1000 ppm. This rate changes by at most 20 ppm per second, or by at most 40
/// ppm per second while the offset is new. So over the length of a buffer the offset is almost a straight line, and
/// audio that is resampled to follow this line stays in sync.
struct SlewedOffset: Sendable, Hashable {
    /// How fast the offset moves towards its target.
    struct Pull: Sendable {
        /// The time constant, in nanoseconds, with which an error is corrected.
        let time: Double
        /// Limit for the difference between the offset's rate and the sender's rate.
        let limit: Double
        /// The maximum change of the offset's rate per second.
        var acceleration = 20e-6

        /// Used while there is only a rough estimate of the sender's rate.
        static let guessing = Pull(time: 10e9, limit: 700e-6, acceleration: 40e-6)
        /// Used soon after the sender's rate was measured, while the offset may still have an error from the rough
        /// estimate.
        static let new = Pull(time: 15e9, limit: 300e-6, acceleration: 40e-6)
        /// Used later for a source with a buffer of its own; used always if timestamps are capture times.
        static let usual = Pull(time: 60e9, limit: 150e-6)
        /// Used later, for a source with a common buffer. Its target may be far away, because another source can change
        /// the buffer.
        static let far = Pull(time: 60e9, limit: 500e-6)
    }

    private static let highestRate = 1000e-6

    private var offset: FineTime
    private var at: MonotonicInstant
    /// The rate at which the offset grows, as a fraction: the source's media is stretched by this fraction.
    private(set) var rate: Double

    /// Creates an offset that is `offset` at the moment `now` and grows at the rate `rate`.
    init(_ offset: Duration, at now: MonotonicInstant, rate: Double = 0) {
        self.offset = FineTime(offset.inNanoseconds)
        self.rate = rate
        at = now
    }

    /// The offset at its last update (``advance(to:target:senderRate:_:)``).
    var value: Duration { .nanoseconds(offset.whole) }

    /// Updates the offset to the moment `now`. The offset moves towards `target`, which itself grows at the rate
    /// `senderRate`.
    mutating func advance(to now: MonotonicInstant, target: Duration, senderRate: Double, _ pull: Pull) {
        guard now > at else { return }
        let elapsed = Double((now - at).inNanoseconds)
        at = now
        let pulled = min(pull.limit, max(-pull.limit, Double(target.inNanoseconds &- offset.whole) / pull.time))
        let wanted = min(Self.highestRate, max(-Self.highestRate, senderRate + pulled))
        let change = pull.acceleration / 1e9 * elapsed
        let before = rate
        rate += min(change, max(-change, wanted - rate))
        offset.add((before + rate) / 2 * elapsed)
    }

    /// Adds `distance` to the offset at once, without slewing.
    mutating func step(by distance: Duration) { offset.add(distance.inNanoseconds) }

    /// The moment on our clock at which the media with the source time `time` is due, if the offset keeps its present
    /// rate. Solves due = time + offset(due).
    func due(_ time: Timestamp) -> MonotonicInstant {
        let distance = time.nanoseconds &+ offset.whole &- at.nanoseconds
        let slant = Int64((Double(distance) * rate / (1 - rate)).rounded())
        return MonotonicInstant(nanoseconds: at.nanoseconds &+ distance &+ slant)
    }

    /// The same conversion as ``due(_:)``, from source time to our clock, as a line.
    var line: SourceClockLine {
        SourceClockLine(
            origin: at.time(delayedBy: value), image: at, rate: rate / (1 - rate))
    }
}
