// SPDX-License-Identifier: Apache-2.0

package import Media

/// Keeps a source's audio at the position that its timestamps demand, by resampling it slightly. It compares the number
/// of output samples with the clock mapping.
///
/// The controller is proportional-integral, critically damped with a time constant of 10 s. Its limits are 1000 ppm,
/// and a change of 200 ppm per second. An error of 300 ppm in the sender's sample count causes at most 2.2 ms of
/// offset, in the first minute (7.4 s × the error). Only a gap, or a step of the mapping, moves audio at once.
package struct AudioServo: Sendable {
    /// The correction of a run of audio.
    package struct Correction: Sendable, Hashable {
        /// The stretch: 0.0001 makes 100 ppm more samples.
        package var stretch: Double
        /// Samples of silence to insert before the run; if negative, the number of samples to remove from earlier
        /// output.
        package var fill: Int64
        /// Whether the fill has another cause than a step of the mapping: audio was lost or repeated, or it was more
        /// than 100 ms off.
        package var isHole: Bool
    }

    private static let highest = 1000e-6
    private static let proportional = 1 / 10e9
    private static let integral = proportional * proportional / 4
    /// Maximum change of the correction per nanosecond.
    private static let acceleration = 200e-6 / 1e9
    /// An error above this, in nanoseconds, is not caused by drift.
    private static let farthest: Double = 100_000_000

    private let rate: Int64
    /// Number of samples that were output since ``origin``.
    private var made: Int64 = 0
    private var origin: Int64?
    private var sum = 0.0
    private var last = 0.0
    private var end: Int64?
    /// The mean difference between a run's timestamp and the end of the previous run, in nanoseconds, and the number of
    /// runs in that mean.
    private var noise = 0.0
    private var noiseCount = 0.0

    /// Offset of the last run from its timestamp in nanoseconds, positive if the audio is early.
    package private(set) var error: Double = 0
    /// By what fraction the sender sends fewer samples than its timestamps demand: its sample clock is too slow by this
    /// fraction.
    package var sampleRateError: Double { sum }

    /// Creates a servo for audio at `sampleRate`, the program's rate.
    package init(sampleRate: Int32) { rate = Int64(sampleRate) }

    /// The program time of the next sample; nil before the first run.
    package var position: Timestamp? {
        origin.map { Timestamp(nanoseconds: $0 &+ TimeBase(1, Int32(rate)).rescale(made, to: .nanoseconds)) }
    }

    /// Prepares for a source whose mapping is set again: the next run is output at the position that its timestamp
    /// demands.
    package mutating func restart() {
        origin = nil
        end = nil
    }

    /// Decides how to correct a run of audio. The run lasts `duration`, and begins at `time` on the source's timeline
    /// and at `target` on the program's timeline. `stretch` is the rate difference between program time and source time
    /// (the mapping's stretch minus the program's own); `step` is the sum of the mapping's steps since the last run.
    /// The caller reports the samples that were really output, including silence, to ``note(made:)``.
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
        // After packet loss, both the timestamp and the position are off; if the timestamp jitters, only the timestamp
        // is off.
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

    /// Counts output samples, including silence. Removed samples are negative.
    package mutating func note(made samples: Int64) { made &+= samples }
}
