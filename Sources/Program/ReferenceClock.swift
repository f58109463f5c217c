// SPDX-License-Identifier: Apache-2.0

package import Media

/// The clock of a program. It says when each program frame begins on the machine's monotonic clock. The beginning of a
/// program frame is called a tick.
///
/// The clock follows one source, the reference, just as studio equipment is locked to one signal (SMPTE ST 318). The
/// clock runs at the reference's rate. Its phase is adjusted until the reference's frames are due exactly at the ticks:
/// a frame then still belongs to its tick if it comes up to half a frame earlier or later. So no frame of the reference
/// is repeated or dropped because of clock drift, and the reference's audio is resampled only if its own sample clock
/// is wrong.
///
/// The clock's rate differs from the rate of the machine's clock by at most 1000 ppm and changes by at most 100 ppm per
/// second. The clock never jumps. While the reference sends nothing, the clock keeps its last rate. If another source
/// becomes the reference, the clock moves by at most half a frame, which takes up to a minute. Without a reference, the
/// program's clock runs like the machine's clock.
///
/// This type reads no clock: callers pass in the present moment. It must be used by one thread only, or be protected by
/// a lock.
package struct ReferenceClock: Sendable {
    /// What the program's clock follows now.
    package enum State: Sendable, Hashable {
        /// The program's clock runs like the machine's clock.
        case free
        /// The program's clock follows the source with this number.
        case following(Int)
        /// The program's clock keeps the last rate of the source with this number, because no frame of that source was
        /// recorded within the last second.
        case holding(Int)
    }

    private static let highest = 1000e-6
    private static let proportional = 1 / 10e9
    private static let integral = proportional * proportional / 4
    /// The maximum change of the clock's rate per nanosecond.
    private static let acceleration = 100e-6 / 1e9
    /// While the magnitude of the phase is larger than this, in nanoseconds, the clock only reduces the phase. The
    /// estimate of the cadence does not change meanwhile.
    private static let cadencePhase = 5_000_000.0
    /// The cadence is the fraction by which the reference's frames really come faster than their timestamps show;
    /// negative if they come more slowly. This is its maximum magnitude.
    private static let highestCadence = 500e-6
    private static let patience = Duration.seconds(1)
    /// The maximum result of `steps(from:to:)`. If the ratio of two frame rates needs more steps than this, the frames
    /// have no common phase.
    private static let mostSteps: Int64 = 8
    /// The number of frames over which ``steadyPhase`` is smoothed.
    private static let memory = 16.0

    /// The program's frame rate.
    package let frameRate: FrameRate
    /// The number of the source that is the reference; nil without a reference.
    package private(set) var reference: Int?
    /// How much later than its tick the reference's last frame was due, in nanoseconds; negative if earlier.
    package private(set) var phase: Double = 0
    /// The phase, smoothed to remove the jitter of timestamps. The frames of other sources are shifted by this phase,
    /// too.
    package private(set) var steadyPhase: Double = 0
    /// By what fraction the program's clock runs faster than the machine's clock: 0.0001 means 100 ppm.
    package private(set) var rate = 0.0

    private var at: MonotonicInstant
    private var program = FineTime(0)
    /// The number of positions within a program frame at which the reference's frames can be due; nil if they have no
    /// common phase. See `steps(from:to:)`.
    private var steps: Int64? = 1
    private var hasPhase = false
    private var noted: MonotonicInstant?
    private var senderRate = 0.0
    private var cadence = 0.0

    /// Creates a clock for a program that begins at `start`. At first it runs like the machine's clock.
    package init(frameRate: FrameRate, start: MonotonicInstant) {
        self.frameRate = frameRate
        at = start
    }

    /// What the clock follows now.
    package var state: State {
        guard let reference else { return .free }
        guard let noted, at - noted <= Self.patience else { return .holding(reference) }
        return .following(reference)
    }

    /// The present conversion from the machine's clock to program time.
    package var line: ProgramClockLine {
        ProgramClockLine(origin: at, image: ProgramInstant(nanoseconds: program.whole), rate: rate)
    }

    /// Returns when program frame `index` begins, as a moment of the machine's clock.
    package func moment(of index: FrameIndex) -> MonotonicInstant {
        line.origin(of: frameRate.start(of: index, rounding: .down))
    }

    /// Converts `moment` of the machine's clock to program time.
    package func position(at moment: MonotonicInstant) -> ProgramInstant { line.image(of: moment) }

    /// Makes the source with the number `reference` the reference. With nil, the clock follows no source. `sourceRate`
    /// is the source's frame rate. Without `sourceRate`, as for a source without video, the clock follows only the rate
    /// of the source and not the phase of its frames.
    package mutating func follow(_ reference: Int?, sourceRate: FrameRate? = nil) {
        let steps = sourceRate.flatMap { Self.steps(from: $0, to: frameRate) }
        // Even if the same source stays the reference, the clock may begin or cease to follow the phase of the source's
        // frames.
        guard reference != self.reference || steps != self.steps else { return }
        self.reference = reference
        self.steps = steps
        (hasPhase, phase, steadyPhase, cadence, noted) = (false, 0, 0, 0, nil)
        if reference == nil { senderRate = 0 }
    }

    /// Records a frame of `source` that is due at `due` on the machine's clock. `stretch` is the fraction by which the
    /// source's media is stretched to fit the machine's clock. Does nothing if `source` is not the reference. For a
    /// source that is followed only by its rate, `due` is not used.
    package mutating func note(_ source: Int, due: MonotonicInstant, stretch: Double, now: MonotonicInstant) {
        guard source == reference else { return }
        let elapsed = noted.map { min(.milliseconds(100), max(.zero, now - $0)) } ?? .zero
        noted = now
        senderRate = -stretch / (1 + stretch)
        guard let steps else { return }
        let grid = Double(frameRate.timeBase.rescale(1, to: .nanoseconds)) / Double(steps)
        var measured = distance(of: position(at: due), steps)
        // The phase is known only up to whole steps, so the value nearest to the previous phase is used. Otherwise a
        // phase near half a step would alternate between plus and minus.
        if hasPhase { measured += ((phase - measured) / grid).rounded() * grid }
        if abs(measured) > 0.75 * grid { measured -= (measured / grid).rounded() * grid }
        // A larger difference from the smoothed phase is not jitter: the mapping of the source's times made a step, or
        // no frame was recorded for a long time.
        let isSteady = hasPhase && abs(measured - steadyPhase) < grid / 5
        steadyPhase = isSteady ? steadyPhase + (measured - steadyPhase) / Self.memory : measured
        (phase, hasPhase) = (measured, true)
        guard abs(phase) < Self.cadencePhase else { return }
        let step = Self.integral * phase * Double(elapsed.inNanoseconds)
        cadence = min(Self.highestCadence, max(-Self.highestCadence, cadence - step))
    }

    /// Advances the clock to `now`. Must be called at each tick. Does nothing if `now` is earlier than in the last
    /// call.
    package mutating func advance(to now: MonotonicInstant) {
        let elapsed = (now - at).inNanoseconds
        guard elapsed > 0 else { return }
        at = now
        var wanted = senderRate + cadence
        if case .following = state { wanted -= Self.proportional * phase }
        wanted = min(Self.highest, max(-Self.highest, wanted))
        let change = Self.acceleration * Double(elapsed)
        let before = rate
        rate += min(change, max(-change, wanted - rate))
        program.add(elapsed)
        program.add((before + rate) / 2 * Double(elapsed))
    }

    /// Returns how much later `position` is than the nearest step, in nanoseconds. Each program frame is divided into
    /// `steps` equal steps.
    private func distance(of position: ProgramInstant, _ steps: Int64) -> Double {
        let scale = Int128(frameRate.numerator) * Int128(steps)
        let step = Int128(frameRate.denominator) * 1_000_000_000
        var rest = Int128(position.nanoseconds) * scale % step
        if rest < 0 { rest += step }
        if rest * 2 > step { rest -= step }
        return Double(rest) / Double(scale)
    }

    /// Returns into how many equal steps a program frame must be divided so that each frame of the source is due at the
    /// beginning of a step. The result is 1 for the same frame rate or half of it, 2 for twice the rate, and 6 for a
    /// source of 30 fps in a program of 25 fps. It is nil if there are too many steps, as for 29.97 fps in a program of
    /// 25 fps.
    private static func steps(from source: FrameRate, to program: FrameRate) -> Int64? {
        // The duration of a source frame in program frames, as a fraction.
        let numerator = Int64(source.denominator) * Int64(program.numerator)
        let denominator = Int64(source.numerator) * Int64(program.denominator)
        var (a, b) = (numerator, denominator)
        while b != 0 { (a, b) = (b, a % b) }
        return denominator / a <= mostSteps ? denominator / a : nil
    }
}
