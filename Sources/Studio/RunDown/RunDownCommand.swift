// SPDX-License-Identifier: Apache-2.0

/// A command for a run-down.
package enum RunDownCommand: Sendable, Equatable {
    /// Starts the run-down with the segment that has this number, counted from 0.
    case start(segment: Int)
    /// Ends the run-down. The scene on air does not change.
    case stop
    /// Continues with the next segment.
    case next
    /// Prevents the next change until another command continues the run-down (a hold).
    case hold
    /// Continues at the position at which the run-down was held, or at which another scene replaced it.
    case resume
    /// Continues at the position that the run-down would have reached by now without the hold.
    case follow
}
