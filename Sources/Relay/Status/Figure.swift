// SPDX-License-Identifier: Apache-2.0

/// Formats numbers for people.
enum Figure {
    /// Formats seconds, which must not be negative, as `01:02:03`.
    static func clock(_ seconds: Int64) -> String {
        let whole = max(0, seconds)
        return [whole / 3600, whole / 60 % 60, whole % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }

    /// Formats seconds from another process, which may not be a valid number.
    static func clock(_ seconds: Double) -> String { clock(Int64(min(max(seconds, 0), 1e9))) }

    /// Formats a number with one decimal, at least 0.
    static func decimal(_ value: Double) -> String {
        let tenths = Int64((min(max(value, 0), 1e12) * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
