// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Networking

/// Interprets the signals that ask for the end.
///
/// The first one requests a clean end. A later one means that this takes too long, but only 500 ms or more after the
/// first: `timeout` and a closing terminal send two within microseconds, to the process and to its group.
struct EndRequests {
    /// What to do about a signal.
    enum Answer: Equatable {
        case end
        case ignore
        case endAtOnce
    }

    private static let patience = Duration.milliseconds(500)
    private var first: Int64?

    /// Takes a signal at `now`, in monotonic nanoseconds.
    mutating func received(at now: Int64) -> Answer {
        guard let first else {
            self.first = now
            return .end
        }
        return now - first < Self.patience.inNanoseconds ? .ignore : .endAtOnce
    }
}
