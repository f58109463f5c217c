// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides which failed attempts of an output are logged: the first failure of each kind at each step, and then one
/// failure a minute with the number of failures. When the output has stayed on air, this begins again.
///
/// Only one thread at a time may use it.
struct FailureLog: Sendable {
    /// How a failure is logged.
    enum Line: Equatable {
        /// The failure is logged as a warning, because it is the first of its kind since the output stayed on air.
        case named
        /// The failure is logged as a warning, with the number of failures since the output last stayed on air.
        case summed(Int)
        /// The failure is counted, and logged only at debug level.
        case counted
    }

    private struct Sort: Hashable {
        let kind: OutputFailure.Kind
        let step: String
    }

    private static let interval = Duration.seconds(60)
    /// An attempt that was on air for at least this time counts as having stayed on air. If the connection is lost
    /// earlier, the server has probably accepted the stream and then dropped it.
    private static let stable = Duration.seconds(3)

    private var sorts: Set<Sort> = []
    private var failures = 0
    private var lastNamed = MonotonicInstant.distantPast
    private var onAir: (attempt: Int, since: MonotonicInstant)?

    /// Records that the attempt went on air. Returns the number of failures since the output last stayed on air.
    mutating func accepted(_ attempt: Int, at now: MonotonicInstant) -> Int {
        onAir = (attempt, now)
        return failures
    }

    /// Makes the next failure of each kind a warning again, because an operator asked for a retry and must see its
    /// result.
    mutating func forgetSorts() { sorts = [] }

    /// Records that the attempt failed, and returns how to log the failure.
    mutating func note(_ failure: OutputFailure, of attempt: Int, at now: MonotonicInstant) -> Line {
        if let onAir, onAir.attempt == attempt {
            self.onAir = nil
            if now - onAir.since >= Self.stable { (sorts, failures) = ([], 0) }
        }
        failures += 1
        let isNew = sorts.insert(Sort(kind: failure.kind, step: failure.step)).inserted
        guard isNew || now - lastNamed >= Self.interval else { return .counted }
        lastNamed = now
        return isNew ? .named : .summed(failures)
    }
}
