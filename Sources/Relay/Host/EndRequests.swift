// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Networking

/// Interprets the signals that ask the process to end.
///
/// The first signal requests a clean end. A later signal means that the clean end takes too long, but only 500 ms or
/// more after the first: `timeout` and a closing terminal send two signals within microseconds, one to the process and
/// one to its group.
struct EndRequests {
    /// How to respond to a signal.
    enum Answer: Equatable {
        case end
        case ignore
        case endAtOnce
    }

    private static let patience = Duration.milliseconds(500)
    private var first: Int64?

    /// Records a signal at `now`, in monotonic nanoseconds, and returns the response.
    mutating func received(at now: Int64) -> Answer {
        guard let first else {
            self.first = now
            return .end
        }
        return now - first < Self.patience.inNanoseconds ? .ignore : .endAtOnce
    }
}
