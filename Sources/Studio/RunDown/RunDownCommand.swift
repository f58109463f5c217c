// SPDX-License-Identifier: Apache-2.0

/// A command for a run-down.
package enum RunDownCommand: Sendable, Equatable {
    /// Begins with a segment.
    case start(segment: Int)
    /// Ends the run-down; the scene on air stays.
    case stop
    /// Continues with the next segment.
    case next
    /// Prevents the next change until another command continues the run-down.
    case hold
    /// Continues at the position at which the run-down was held, or cut away from.
    case resume
    /// Continues at the position that the run-down would have reached by now.
    case follow
}
