// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides which of an output's failed attempts the log names: each sort of failure once, then all of them once a minute
/// with their number, for as long as the output does not stay on air.
///
/// Times are monotonic nanoseconds. One thread at a time.
struct FailureLog: Sendable {
    /// What the log says of a failure.
    enum Line: Equatable {
        /// It is named: the output went off air, or it is the first of its sort.
        case named
        /// It is named, with the number of failures since the output was last on air for a while.
        case summed(Int)
        /// It is counted only.
        case counted
    }

    private struct Sort: Hashable {
        let kind: OutputFailure.Kind
        let step: String
    }

    private static let interval = Duration.seconds(60)
    /// What is lost sooner was accepted only to be dropped, which is one more failure.
    private static let stable = Duration.seconds(3)

    private var sorts: Set<Sort> = []
    private var failures = 0
    private var lastNamed: Int64 = 0
    private var onAir: (attempt: Int, since: Int64)?

    /// The attempt came on air. Returns how many failed before it since the output was last on air for a while.
    mutating func accepted(_ attempt: Int, at now: Int64) -> Int {
        onAir = (attempt, now)
        return failures
    }

    /// An operator asked for another try: whatever comes of it is named.
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
