// SPDX-License-Identifier: Apache-2.0

package import Media

/// Keeps a source's audio where its stamps say, by resampling it a little: a counter of the samples that were made,
/// held against the map.
///
/// The correction is proportional and integral, critically damped with a time constant of 10 s, at most 1000 ppm and
/// changed by at most 200 ppm in a second. An error of 300 ppm in the sender's sample count is 2.2 ms at its worst, in
/// the first minute (7.4 s × the error). Nothing but a hole, or a step of the map, moves audio at once.
package struct AudioServo: Sendable {
    /// What to do with a run of audio.
    package struct Correction: Sendable, Hashable {
        /// By how much to stretch it: 0.0001 makes 100 ppm more samples of it.
        package var stretch: Double
        /// Samples of silence to put before it; of what was made already so many are to be given up, if negative.
        package var fill: Int64
        /// Whether the fill was not asked for by the map: audio was lost, or doubled, or lay over 100 ms off.
        package var isHole: Bool
    }

    private static let highest = 1000e-6
    private static let proportional = 1 / 10e9
    private static let integral = proportional * proportional / 4
    /// How fast the correction changes, for each nanosecond.
    private static let acceleration = 200e-6 / 1e9
    /// Further off than this is no drift.
    private static let farthest: Double = 100_000_000

    private let rate: Int64
    /// Samples made since ``origin``.
    private var made: Int64 = 0
    private var origin: Int64?
    private var sum = 0.0
    private var last = 0.0
    private var end: Int64?
    /// What stamps mostly differ by from the end of the run before, in nanoseconds, and of how many runs that is the
    /// mean.
    private var noise = 0.0
    private var noiseCount = 0.0

    /// How far the last run lay from where its stamp puts it, in nanoseconds, positive if audio is early.
    package private(set) var error: Double = 0
    /// By how much the sender's samples are too few for its stamps, as a fraction: its sample clock is so much slow.
    package var sampleRateError: Double { sum }

    /// A servo of audio of `sampleRate` samples a second, which is the program's.
    package init(sampleRate: Int32) { rate = Int64(sampleRate) }

    /// Where the next sample is in program time; nil before the first run.
    package var position: Timestamp? {
        origin.map { Timestamp(nanoseconds: $0 &+ TimeBase(1, Int32(rate)).rescale(made, to: .nanoseconds)) }
    }

    /// Prepares for a source that is placed again: the next run is placed where its stamp says.
    package mutating func restart() {
        origin = nil
        end = nil
    }

    /// Decides about a run of audio of `duration`, which begins at `time` of the source's timeline and belongs at
    /// `target` of the program's. `stretch` is by how much program time runs slower than the source's (its map's
    /// stretch, less the program's own), and `step` what the map moved at once since the last run. The samples that
    /// were really made of it, silence included, are told by ``note(made:)``.
    package mutating func correct(
        time: Timestamp, duration: Duration, target: Timestamp, stretch: Double, step: Duration = .zero
    ) -> Correction {
        let length = max(1, Double(duration.inNanoseconds))
        defer { end = time.nanoseconds &+ duration.inNanoseconds }
        guard let position, let end else {
            (origin, made) = (target.nanoseconds, 0)
            last = min(Self.highest, max(-Self.highest, stretch + sum))
            return Correction(stretch: last, fill: 0, isHole: false)
        }
        var fill = Double(step.inNanoseconds)
        var isHole = false
        let hole = Double(time.nanoseconds &- end)
        if noiseCount == 0 { noise = 0.12 * length }
        let bar = max(0.75 * length, 6 * noise)
        let off = Double(target.nanoseconds &- position.nanoseconds) - fill
        // What a lost packet leaves is off both against the stamps and against the position; a jittering stamp is not.
        if abs(hole) >= bar, abs(off) >= bar {
            fill += abs(hole) < 10 * length ? (hole / length).rounded() * length : off
            isHole = true
        } else {
            noiseCount = min(64, noiseCount + 1)
            noise += (min(abs(hole), 2 * length) - noise) / (noiseCount + 4)
        }
        error = Double(target.nanoseconds &- position.nanoseconds) - fill
        if abs(error) > Self.farthest {
            fill += error
            error = 0
            isHole = true
        }
        sum = min(Self.highest, max(-Self.highest, sum + Self.integral * error * length))
        let wanted = min(Self.highest, max(-Self.highest, stretch + sum + Self.proportional * error))
        let change = Self.acceleration * length
        last += min(change, max(-change, wanted - last))
        return Correction(stretch: last, fill: Int64((fill * Double(rate) / 1e9).rounded()), isHole: isHole)
    }

    /// Counts samples that were made, silence as well; negative for such as were given up.
    package mutating func note(made samples: Int64) { made &+= samples }
}
