// SPDX-License-Identifier: Apache-2.0

/// What may be asked of a run-down.
package enum RunDownCommand: Sendable, Equatable {
    /// Begins with a segment.
    case start(segment: Int)
    /// Ends it; what is on air stays.
    case stop
    /// Goes on with the next segment.
    case next
    /// Lets nothing follow until it is told to go on.
    case hold
    /// Goes on where it was held, or cut away from.
    case resume
    /// Goes on with what would be on air by now.
    case follow
}
