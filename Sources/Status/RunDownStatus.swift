// SPDX-License-Identifier: Apache-2.0

/// Where a run-down is, for people: what is on air, for how long still, and what comes then.
package struct RunDownStatus: Sendable, Codable, Equatable {
    /// What it is doing.
    package enum State: String, Sendable, Codable {
        case idle, running, held, over
    }

    /// How a segment comes on air.
    package struct Change: Sendable, Codable, Equatable {
        /// A kind of transition, or `stinger`.
        package var type: String
        package var seconds: Double
        /// The stinger's.
        package var name: String?

        /// A change of this type.
        package init(type: String, seconds: Double, name: String? = nil) {
            (self.type, self.seconds, self.name) = (type, seconds, name)
        }
    }

    /// One part of the show.
    package struct Segment: Sendable, Codable, Equatable {
        package var name: String
        /// What is seen, by name.
        package var views: [String]
        /// How long it lasts; nil where that is not known.
        package var seconds: Double?
        /// What ends it where that is not a time: `end` or `take`.
        package var until: String?
        package var transition: Change

        /// A segment of these properties.
        package init(name: String, views: [String], seconds: Double? = nil, until: String? = nil, transition: Change) {
            (self.name, self.views, self.seconds, self.until) = (name, views, seconds, until)
            self.transition = transition
        }
    }

    /// The segment under way.
    package struct Current: Sendable, Codable, Equatable {
        /// Its place in ``segments``, from 0 on.
        package var index: Int
        package var name: String
        /// Which of its views is seen.
        package var view: String
        /// The frame at which it began; later by as long as it was held.
        package var frame: Int64
        package var elapsedSeconds: Double
        /// Nil if it is unknown: the segment lasts to the end of a file of unknown length, or until the run-down is
        /// told to move on.
        package var remainingSeconds: Double?

        /// The segment under way, of these properties.
        package init(
            index: Int, name: String, view: String, frame: Int64, elapsedSeconds: Double,
            remainingSeconds: Double? = nil
        ) {
            (self.index, self.name, self.view, self.frame) = (index, name, view, frame)
            (self.elapsedSeconds, self.remainingSeconds) = (elapsedSeconds, remainingSeconds)
        }
    }

    /// What comes then.
    package struct Next: Sendable, Codable, Equatable {
        package var index: Int
        package var name: String
        /// The frame at which it begins, as far as that is known for certain.
        package var frame: Int64?
        /// Whether its file is ready; nil without one.
        package var isReady: Bool?

        /// What comes then, with these properties.
        package init(index: Int, name: String, frame: Int64? = nil, isReady: Bool? = nil) {
            (self.index, self.name, self.frame, self.isReady) = (index, name, frame, isReady)
        }
    }

    package var name: String
    package var state: State
    /// Whether it begins again at its end.
    package var loops: Bool
    /// How often it was at its end.
    package var rounds: Int64
    package var current: Current?
    package var next: Next?
    /// What remains of the whole round, in seconds; nil if it is unknown.
    package var remainingSeconds: Double?
    /// While it is held: whether something else is on air.
    package var isCutAway: Bool?
    /// While it is held: the segment that `follow` continues with.
    package var follows: Int?
    /// Frames that segments began late because their files were not ready.
    package var lateFrames: Int64
    /// Why a segment was left out last, or was over before its end.
    package var failure: String?
    /// All of it; nil where only the position was asked for.
    package var segments: [Segment]?

    /// A run-down of these properties.
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
