// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The times in the query of a request.
extension ControlRequest {
    /// Returns a time from the query, in milliseconds since 1970; nil if the query does not contain it.
    func moment(_ name: String) throws(Refusal) -> Int64? {
        guard let text = query(name) else { return nil }
        return try ClockTime.milliseconds(text, name)
    }

    /// Returns the range from the time `from` to the time `to` of the query, in milliseconds since 1970. If one of them
    /// is missing, the range has no limit at that end.
    func times() throws(Refusal) -> Range<Int64> {
        let lower = try moment("from") ?? ClockTime.all.lowerBound
        let upper = try moment("to") ?? ClockTime.all.upperBound
        return lower..<max(lower, upper)
    }
}
