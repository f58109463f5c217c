// SPDX-License-Identifier: Apache-2.0

/// Where each run of decoded audio belongs, to the sample.
///
/// Containers round timestamps (FLV and Matroska to the millisecond), so a timestamp places only the first run; the
/// following ones continue it sample by sample, as long as their timestamps agree within a tolerance. Beyond it the
/// audio really jumps, and the timestamp counts again.
package struct AudioTimeline: Sendable, Hashable {
    /// Where a run belongs.
    package enum Placement: Sendable, Hashable {
        /// Right behind the run before.
        case continues
        /// At this position: the first run, or a jump.
        case starts(at: Int64)
    }

    /// How far a timestamp may be from the running count, in samples.
    package let tolerance: Int64
    /// The position behind the last run; nil before the first.
    package private(set) var end: Int64?

    /// A timeline for audio of `sampleRate`, with a tolerance of 8 ms.
    package init(sampleRate: Int32) { tolerance = Int64(sampleRate) / 125 }

    /// Decides about a run whose timestamp says `stated`, nil if it has none.
    package func place(stated: Int64?) -> Placement {
        guard let end else { return .starts(at: stated ?? 0) }
        guard let stated, abs(stated - end) > tolerance else { return .continues }
        return .starts(at: stated)
    }

    /// Notes that everything up to `position` is placed.
    package mutating func advance(to position: Int64) { end = position }
    /// Forgets what came before, so that the next run is placed by its timestamp.
    package mutating func reset() { end = nil }
}
