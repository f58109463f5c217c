// SPDX-License-Identifier: Apache-2.0

package import Media

/// The clock of a program: it maps the beginning of each program frame to the machine's monotonic clock. A program
/// frame is also called a tick.
///
/// The clock follows a reference source, just as studio equipment is locked to one signal (SMPTE ST 318). Its phase is
/// adjusted until the frames of the reference fall into the middle of the interval of their tick, with half a frame to
/// each side, and its rate is the reference's rate. So no frame is repeated or dropped because of clock drift, and the
/// reference's audio is resampled only for its own errors. The rate differs from the machine's rate by at most 1000 ppm
/// and changes by at most 100 ppm per second; there is never a jump. While the reference is silent, its last rate is
/// kept. If another source becomes the reference, the clock moves by at most half a frame, over up to a minute. Without
/// a reference, the program's clock is the machine's clock.
///
/// A value type without a clock of its own. It is used by one thread, or guarded by a lock.
package struct ReferenceClock: Sendable {
    /// What the clock follows now.
    package enum State: Sendable, Hashable {
        /// The machine's clock.
        case free
        /// The source with this number.
        case following(Int)
        /// The last rate of the source with this number, which has sent nothing for a second.
        case holding(Int)
    }

    private static let highest = 1000e-6
    private static let proportional = 1 / 10e9
    private static let integral = proportional * proportional / 4
    /// How fast the rate may change, per nanosecond.
    private static let acceleration = 100e-6 / 1e9
    /// A phase larger than this, in nanoseconds, is reduced first, and does not affect the estimate of the cadence yet.
    private static let cadencePhase = 5_000_000.0
    /// The maximum difference between the rate at which frames come and the rate that their timestamps show.
    private static let highestCadence = 500e-6
    private static let patience: Int64 = 1_000_000_000
    /// If the ratio of two frame rates has more steps than this, their frames have no common phase.
    private static let mostSteps: Int64 = 8
    /// The number of frames over which ``steadyPhase`` is averaged.
    private static let memory = 16.0

    /// The program's rate.
    package let frameRate: FrameRate
    /// The number of the source that the clock follows; nil if it follows the machine's clock.
    package private(set) var reference: Int?
    /// How far the reference's last frame was after the middle of its tick, in nanoseconds.
    package private(set) var phase: Double = 0
    /// The phase without the jitter of timestamps. Frames of other sources are aligned with it.
    package private(set) var steadyPhase: Double = 0
    /// By how much the program runs faster than the machine's clock: 0.0001 means 100 ppm.
    package private(set) var rate = 0.0

    private var at: Int64
    private var program = FineTime(0)
    /// The number of steps into which the reference's frames divide a program frame; nil if they have no common phase.
    private var steps: Int64? = 1
    private var hasPhase = false
    private var noted: Int64?
    private var senderRate = 0.0
    private var cadence = 0.0

    /// A clock for a program that begins at `start`. Its first rate is the machine's rate.
    package init(frameRate: FrameRate, start: Timestamp) {
        self.frameRate = frameRate
        at = start.nanoseconds
    }

    /// The clock's current state.
    package var state: State {
        guard let reference else { return .free }
        guard let noted, at &- noted <= Self.patience else { return .holding(reference) }
        return .following(reference)
    }

    /// The current conversion from the machine's clock to program time.
    package var line: ClockLine {
        ClockLine(origin: Timestamp(nanoseconds: at), image: Timestamp(nanoseconds: program.whole), rate: rate)
    }

    /// Returns when program frame `index` begins, on the machine's clock.
    package func moment(of index: FrameIndex) -> Timestamp {
        line.origin(of: frameRate.start(of: index, rounding: .down))
    }

    /// Returns the program time at `moment` of the machine's clock.
    package func position(at moment: Timestamp) -> Timestamp { line.image(of: moment) }

    /// Follows the source with number `reference`, whose frames come at `sourceRate` (nil if only the rate of the
    /// source's clock is followed, as for a source without video). Follows the machine's clock if `reference` is nil.
    package mutating func follow(_ reference: Int?, sourceRate: FrameRate? = nil) {
        let steps = sourceRate.flatMap { Self.steps(from: $0, to: frameRate) }
        // The same source may at first be followed by its frames, and later only by its rate, or the reverse.
        guard reference != self.reference || steps != self.steps else { return }
        self.reference = reference
        self.steps = steps
        (hasPhase, phase, steadyPhase, cadence, noted) = (false, 0, 0, 0, nil)
        if reference == nil { senderRate = 0 }
    }

    /// Records the time `due` of a frame of `source` on the machine's clock, and the factor `stretch` by which the
    /// source's media are stretched to fit that clock. A source that is not the reference is ignored. For a source
    /// without video, `due` is the time of its audio, and only its rate is followed.
    package mutating func note(_ source: Int, due: Timestamp, stretch: Double, now: Timestamp) {
        guard source == reference else { return }
        let elapsed = noted.map { min(100_000_000, max(0, now.nanoseconds &- $0)) } ?? 0
        noted = now.nanoseconds
        senderRate = -stretch / (1 + stretch)
        guard let steps else { return }
        let grid = Double(frameRate.timeBase.rescale(1, to: .nanoseconds)) / Double(steps)
        var measured = distance(of: position(at: due), steps)
        // Keep the sign of the previous phase: an error near half a step must not alternate between plus and minus.
        if hasPhase { measured += ((phase - measured) / grid).rounded() * grid }
        if abs(measured) > 0.75 * grid { measured -= (measured / grid).rounded() * grid }
        // A larger difference is not jitter: the source's clock mapping made a step, or no frame was recorded for a
        // long time.
        let isSteady = hasPhase && abs(measured - steadyPhase) < grid / 5
        steadyPhase = isSteady ? steadyPhase + (measured - steadyPhase) / Self.memory : measured
        (phase, hasPhase) = (measured, true)
        guard abs(phase) < Self.cadencePhase else { return }
        let step = Self.integral * phase * Double(elapsed)
        cadence = min(Self.highestCadence, max(-Self.highestCadence, cadence - step))
    }

    /// Advances the clock to `now`. Must be called at each tick; earlier times are ignored.
    package mutating func advance(to now: Timestamp) {
        let elapsed = now.nanoseconds &- at
        guard elapsed > 0 else { return }
        at = now.nanoseconds
        var wanted = senderRate + cadence
        if case .following = state { wanted -= Self.proportional * phase }
        wanted = min(Self.highest, max(-Self.highest, wanted))
        let change = Self.acceleration * Double(elapsed)
        let before = rate
        rate += min(change, max(-change, wanted - rate))
        program.add(elapsed)
        program.add((before + rate) / 2 * Double(elapsed))
    }

    /// Returns how far `position` is after the nearest step of a frame, in nanoseconds.
    private func distance(of position: Timestamp, _ steps: Int64) -> Double {
        let scale = Int128(frameRate.numerator) * Int128(steps)
        let step = Int128(frameRate.denominator) * 1_000_000_000
        var rest = Int128(position.nanoseconds) * scale % step
        if rest < 0 { rest += step }
        if rest * 2 > step { rest -= step }
        return Double(rest) / Double(scale)
    }

    /// Returns the number of steps into which frames of `source` divide a frame of `program`: 1 for the same rate or
    /// half of it, 2 for twice the rate, 6 for 30 on 25. Nil if there are too many, as for 29.97 on 25.
    private static func steps(from source: FrameRate, to program: FrameRate) -> Int64? {
        // The duration of a source frame in program frames, as a fraction.
        let numerator = Int64(source.denominator) * Int64(program.numerator)
        let denominator = Int64(source.numerator) * Int64(program.denominator)
        var (a, b) = (numerator, denominator)
        while b != 0 { (a, b) = (b, a % b) }
        return denominator / a <= mostSteps ? denominator / a : nil
    }
}
