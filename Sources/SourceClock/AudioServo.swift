// SPDX-License-Identifier: Apache-2.0

package import Media

/// Keeps a source's audio at the position in the program that its timestamps demand, by controlling a resampler. The
/// servo compares the position that follows from the number of output samples with the position that follows from the
/// timestamps and the source clock's mapping to program time.
///
/// The servo is a proportional-integral controller. It is critically damped; its proportional part has a time constant
/// of 10 s. The correction is at most 1000 ppm and changes by at most 200 ppm per second. If the sender's sample clock
/// is wrong by 300 ppm, audio is off by at most 2.2 ms (7.4 s × 300 ppm), and mostly in the first minute. Audio is
/// moved at once, by silence or removed samples, only if audio was lost or repeated, if the mapping made a step, or if
/// the position is wrong by more than 100 ms.
package struct AudioServo: Sendable {
    /// How a piece of audio must be corrected.
    package struct Correction: Sendable, Hashable {
        /// By what fraction the resampler must lengthen the audio. With 0.0001, the resampler outputs 100 ppm more
        /// samples.
        package var stretch: Double
        /// The number of samples of silence to insert before the audio. If negative, the number of samples to remove
        /// from the end of the earlier output.
        package var fill: Int64
        /// Whether `fill` is due to a fault of the audio itself: audio was lost or repeated, or its position was wrong
        /// by more than 100 ms. False if `fill` is 0 or comes only from a step of the mapping.
        package var isHole: Bool
    }

    private static let highest = 1000e-6
    private static let proportional = 1 / 10e9
    private static let integral = proportional * proportional / 4
    /// The maximum change of the stretch per nanosecond.
    private static let acceleration = 200e-6 / 1e9
    /// A position error above this, in nanoseconds, is not caused by drift and is corrected at once.
    private static let farthest: Double = 100_000_000

    private let rate: Int64
    /// The number of samples that were output since program time ``origin``.
    private var made: Int64 = 0
    private var origin: ProgramInstant?
    private var sum = 0.0
    private var last = 0.0
    /// The end of the last piece on the source's timeline.
    private var end: Timestamp?
    /// The jitter of the timestamps: a running mean of the absolute difference between the timestamp of a piece of
    /// audio and the end of the previous piece, in nanoseconds. `noiseCount` is the number of pieces in this mean, at
    /// most 64.
    private var noise = 0.0
    private var noiseCount = 0.0

    /// How much earlier the last audio was output than its timestamp demands, in nanoseconds; negative if it was output
    /// later.
    package private(set) var error: Double = 0
    /// By what fraction the sender's sample clock is slower than its timestamps: the sender sends that much fewer
    /// samples than its timestamps demand.
    package var sampleRateError: Double { sum }

    /// Creates a servo for audio with the program's sample rate, `sampleRate`.
    package init(sampleRate: Int32) { rate = Int64(sampleRate) }

    /// The program time of the next sample to output; nil before the first audio since the start or ``restart()``.
    package var position: ProgramInstant? {
        origin.map { $0 + TimeBase(1, Int32(rate)).duration(made) }
    }

    /// Prepares for a source that gets a new mapping to program time. The next audio is output exactly at the position
    /// that its timestamp demands.
    package mutating func restart() {
        origin = nil
        end = nil
    }

    /// Decides how to correct a piece of audio. The piece lasts `duration`. It begins at `time` on the source's
    /// timeline, which the mapping converts to `target` in program time. `stretch` is the rate difference between
    /// program time and source time: the mapping's stretch minus the program's own. `step` is the sum of the mapping's
    /// steps since the last piece. Afterwards the caller must report the samples that were really output, silence
    /// included, to ``note(made:)``.
    package mutating func correct(
        time: Timestamp, duration: Duration, target: ProgramInstant, stretch: Double, step: Duration = .zero
    ) -> Correction {
        let length = max(1, Double(duration.inNanoseconds))
        defer { end = time + duration }
        guard let position, let end else {
            (origin, made) = (target, 0)
            last = min(Self.highest, max(-Self.highest, stretch + sum))
            return Correction(stretch: last, fill: 0, isHole: false)
        }
        var fill = Double(step.inNanoseconds)
        var isHole = false
        let hole = Double((time - end).inNanoseconds)
        if noiseCount == 0 { noise = 0.12 * length }
        let bar = max(0.75 * length, 6 * noise)
        let off = Double((target - position).inNanoseconds) - fill
        // If packets were lost, both the timestamp and the output position differ from the expected values. If the
        // timestamp only jitters, the output position is right.
        if abs(hole) >= bar, abs(off) >= bar {
            fill += abs(hole) < 10 * length ? (hole / length).rounded() * length : off
            isHole = true
        } else {
            noiseCount = min(64, noiseCount + 1)
            noise += (min(abs(hole), 2 * length) - noise) / (noiseCount + 4)
        }
        error = Double((target - position).inNanoseconds) - fill
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

    /// Counts samples that were output, silence included. Removed samples are counted as a negative number.
    package mutating func note(made samples: Int64) { made &+= samples }
}
