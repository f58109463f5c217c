// SPDX-License-Identifier: Apache-2.0

/// Places each run of decoded audio samples exactly.
///
/// Containers round timestamps (FLV and Matroska to the millisecond), so only the first run is placed by its timestamp.
/// Each further run directly follows the previous run, as long as its timestamp agrees with that position within a
/// tolerance. A larger difference is a real jump of the audio, and that run is placed by its timestamp.
package struct AudioTimeline: Sendable, Hashable {
    /// The position of a run.
    package enum Placement: Sendable, Hashable {
        /// Directly after the previous run.
        case continues
        /// At this position: the first run, or a jump.
        case starts(at: Int64)
    }

    /// How far a timestamp may be from the end of the previous run, in samples.
    package let tolerance: Int64
    /// The position at which the last run ended; nil before the first run.
    package private(set) var end: Int64?

    /// A timeline for audio of `sampleRate`, with a tolerance of 8 ms.
    package init(sampleRate: Int32) { tolerance = Int64(sampleRate) / 125 }

    /// Decides the position of a run whose timestamp is `stated`; nil means that the run has no timestamp.
    package func place(stated: Int64?) -> Placement {
        guard let end else { return .starts(at: stated ?? 0) }
        guard let stated, abs(stated - end) > tolerance else { return .continues }
        return .starts(at: stated)
    }

    /// Records that all audio up to `position` is placed.
    package mutating func advance(to position: Int64) { end = position }
    /// Resets the timeline, so that the next run is placed by its timestamp.
    package mutating func reset() { end = nil }
}
