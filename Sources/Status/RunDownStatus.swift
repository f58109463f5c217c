// SPDX-License-Identifier: Apache-2.0

/// The position of a run-down: the segment on air, its remaining time, and the next segment.
package struct RunDownStatus: Sendable, Codable, Equatable {
    /// The states of a run-down.
    package enum State: String, Sendable, Codable {
        case idle, running, held, over
    }

    /// How a segment goes on air.
    package struct Change: Sendable, Codable, Equatable {
        /// A kind of transition, or `stinger`.
        package var type: String
        package var seconds: Double
        /// The name of the stinger; nil for other transitions.
        package var name: String?

        /// A change of this type.
        package init(type: String, seconds: Double, name: String? = nil) {
            (self.type, self.seconds, self.name) = (type, seconds, name)
        }
    }

    /// One part of the show.
    package struct Segment: Sendable, Codable, Equatable {
        package var name: String
        /// The names of the segment's views.
        package var views: [String]
        /// How long the segment lasts, in seconds; nil if that is unknown.
        package var seconds: Double?
        /// What ends a segment without a fixed length: `end` or `take`.
        package var until: String?
        package var transition: Change

        package init(name: String, views: [String], seconds: Double? = nil, until: String? = nil, transition: Change) {
            (self.name, self.views, self.seconds, self.until) = (name, views, seconds, until)
            self.transition = transition
        }
    }

    /// The current segment.
    package struct Current: Sendable, Codable, Equatable {
        /// The segment's index in ``segments``.
        package var index: Int
        package var name: String
        /// The name of the visible view.
        package var view: String
        /// The frame at which the segment began, plus the number of frames for which the segment was held.
        package var frame: Int64
        package var elapsedSeconds: Double
        /// The remaining time of the segment, in seconds. Nil if it is unknown, because the segment lasts to the end of
        /// a file of unknown length, or until an operator continues the run-down.
        package var remainingSeconds: Double?

        package init(
            index: Int, name: String, view: String, frame: Int64, elapsedSeconds: Double,
            remainingSeconds: Double? = nil
        ) {
            (self.index, self.name, self.view, self.frame) = (index, name, view, frame)
            (self.elapsedSeconds, self.remainingSeconds) = (elapsedSeconds, remainingSeconds)
        }
    }

    /// The next segment.
    package struct Next: Sendable, Codable, Equatable {
        package var index: Int
        package var name: String
        /// The frame at which the segment begins; nil if that is not certain.
        package var frame: Int64?
        /// Whether the segment's file is ready; nil without a file.
        package var isReady: Bool?

        package init(index: Int, name: String, frame: Int64? = nil, isReady: Bool? = nil) {
            (self.index, self.name, self.frame, self.isReady) = (index, name, frame, isReady)
        }
    }

    package var name: String
    package var state: State
    /// Whether the run-down starts again at its end.
    package var loops: Bool
    /// How many times the run-down has started again at its end; 0 when it is over.
    package var rounds: Int64
    package var current: Current?
    package var next: Next?
    /// The remaining time until the end of the last segment, in seconds, without the repetitions of a run-down that
    /// loops. Nil if it is unknown, or if there is no current segment.
    package var remainingSeconds: Double?
    /// Whether another scene is on air while the run-down is held; nil if it is not held.
    package var isCutAway: Bool?
    /// The index of the segment with which the command `follow` continues the run-down; nil if the run-down is not
    /// held, or if without the hold it would be over.
    package var follows: Int?
    /// By how many frames segments began too late, in total, because their files were not ready.
    package var lateFrames: Int64
    /// Why the newest segment with a problem was skipped or ended early; nil if none had a problem.
    package var failure: String?
    /// All segments; nil if only the position was requested.
    package var segments: [Segment]?

    /// A run-down with these values.
    package init(
        name: String, state: State, loops: Bool, rounds: Int64, current: Current? = nil, next: Next? = nil,
        remainingSeconds: Double? = nil, isCutAway: Bool? = nil, follows: Int? = nil, lateFrames: Int64,
        failure: String? = nil, segments: [Segment]? = nil
    ) {
        (self.name, self.state, self.loops, self.rounds) = (name, state, loops, rounds)
        (self.current, self.next, self.remainingSeconds, self.isCutAway) = (current, next, remainingSeconds, isCutAway)
        (self.follows, self.lateFrames, self.failure, self.segments) = (follows, lateFrames, failure, segments)
    }
}
