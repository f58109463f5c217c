// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides which failed attempts of an output are logged: the first of each kind, then a summary once a minute, until
/// the output stays on air.
///
/// Times are monotonic nanoseconds. Used by one thread at a time.
struct FailureLog: Sendable {
    /// How a failure is logged.
    enum Line: Equatable {
        /// In full: the output went off air, or the failure is the first of its kind.
        case named
        /// In full, with the number of failures since the output last stayed on air.
        case summed(Int)
        /// Not at all: the failure is only counted.
        case counted
    }

    private struct Sort: Hashable {
        let kind: OutputFailure.Kind
        let step: String
    }

    private static let interval = Duration.seconds(60)
    /// If a connection is lost sooner than this, the server has accepted the stream and then dropped it, which counts
    /// as a different kind of failure.
    private static let stable = Duration.seconds(3)

    private var sorts: Set<Sort> = []
    private var failures = 0
    private var lastNamed: Int64 = 0
    private var onAir: (attempt: Int, since: Int64)?

    /// The attempt went on air. Returns the number of failures since the output last stayed on air.
    mutating func accepted(_ attempt: Int, at now: Int64) -> Int {
        onAir = (attempt, now)
        return failures
    }

    /// An operator asked for a retry, so its result is always logged.
    mutating func forgetSorts() { sorts = [] }

    /// The attempt failed.
    mutating func note(_ failure: OutputFailure, of attempt: Int, at now: Int64) -> Line {
        if let onAir, onAir.attempt == attempt {
            self.onAir = nil
            if now - onAir.since >= Self.stable.inNanoseconds { (sorts, failures) = ([], 0) }
        }
        failures += 1
        let isNew = sorts.insert(Sort(kind: failure.kind, step: failure.step)).inserted
        guard isNew || now - lastNamed >= Self.interval.inNanoseconds else { return .counted }
        lastNamed = now
        return isNew ? .named : .summed(failures)
    }
}
