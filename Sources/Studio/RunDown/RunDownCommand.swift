// SPDX-License-Identifier: Apache-2.0

/// A command for a run-down.
package enum RunDownCommand: Sendable, Equatable {
    /// Begins with a segment.
    case start(segment: Int)
    /// Ends it; what is on air stays.
    case stop
    /// Continues with the next segment.
    case next
    /// Lets nothing follow until another command continues the run-down.
    case hold
    /// Continues where the run-down was held, or cut away from.
    case resume
    /// Continues with what would be on air by now.
    case follow
}
