// SPDX-License-Identifier: Apache-2.0

package import Media

/// An event of a ``SourceClock``, reported once each time it happens.
package enum SourceClockEvent: Sendable, Hashable {
    /// The source now has a mapping. `buffer` is the time from the earliest packets of the later track to the moment
    /// when they are due.
    case placed(buffer: Duration)
    /// The mapping made a step, for both tracks: media that is not shown yet is shown later by this much (earlier if
    /// negative). The audio servo makes the same step.
    case stepped(Duration)
    /// The sender's timestamps of this track jumped by this much, and were made continuous.
    case jumped(TrackKind, by: Duration)
    /// This track jumped, and the other one did not follow within 5 s. The sync between them has not changed.
    case jumpedAlone(TrackKind)
    /// A track began that did not exist when the source was placed.
    case joined(TrackKind)
    /// The timestamps of two tracks have no common epoch, so the tracks were aligned by their arrivals.
    case unrelated
    /// The mapping made a step to the common buffer of several sources.
    case followed(by: Duration)
    /// The delay of the path became longer or shorter. The sender's rate is kept.
    case pathChanged
    /// A packet arrived late by this much.
    case late(TrackKind, by: Duration)
    /// No packet of this track arrived for longer than the settings allow.
    case silent(TrackKind)
    /// A silent track has packets again.
    case resumed(TrackKind)
    /// No packet of any track arrived for 10 s.
    case lost
}

/// The state of a source's clock, as an operator sees it.
package struct SourceClockStatus: Sendable, Hashable, Codable {
    /// How much faster the sender's clock is than ours, in ppm; 0 until this is known.
    package var ratePPM: Double = 0
    /// The time from the arrival of the earliest packets to the moment when they are due, in milliseconds.
    package var bufferMilliseconds: Double = 0
    /// How much later audio arrives than video with the same time, in milliseconds; negative if it arrives earlier.
    package var audioBehindVideoMilliseconds: Double = 0
    /// Number of late packets.
    package var latePackets = 0
    /// Number of steps of the mapping.
    package var steps = 0
    /// Number of jumps of the sender's timestamps.
    package var jumps = 0
    /// Number of jumps that only one track made.
    package var loneJumps = 0
    /// Number of permanent changes of the path's delay.
    package var pathChanges = 0

    package init() {}
}
