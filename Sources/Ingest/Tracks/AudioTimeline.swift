// SPDX-License-Identifier: Apache-2.0

/// Places each run of decoded audio to the sample.
///
/// Containers round timestamps (FLV and Matroska to the millisecond), so a timestamp places only the first run; each
/// further run directly follows the run before, as long as its timestamp agrees with that place within a tolerance. A
/// larger difference is a real jump of the audio, and the timestamp places that run.
package struct AudioTimeline: Sendable, Hashable {
    /// The place of a run.
    package enum Placement: Sendable, Hashable {
        /// Directly after the run before.
        case continues
        /// At this position: the first run, or a jump.
        case starts(at: Int64)
    }

    /// How far a timestamp may be from the running count, in samples.
    package let tolerance: Int64
    /// The position at which the last run ended; nil before the first run.
    package private(set) var end: Int64?

    /// A timeline for audio of `sampleRate`, with a tolerance of 8 ms.
    package init(sampleRate: Int32) { tolerance = Int64(sampleRate) / 125 }

    /// Decides the place of a run whose timestamp is `stated`; nil means that the run has no timestamp.
    package func place(stated: Int64?) -> Placement {
        guard let end else { return .starts(at: stated ?? 0) }
        guard let stated, abs(stated - end) > tolerance else { return .continues }
        return .starts(at: stated)
    }

    /// Notes that all audio up to `position` is placed.
    package mutating func advance(to position: Int64) { end = position }
    /// Resets the timeline, so that the next run is placed by its timestamp.
    package mutating func reset() { end = nil }
}
