// SPDX-License-Identifier: Apache-2.0

/// Figures as people read them.
enum Figure {
    /// `01:02:03`, of seconds that are not negative.
    static func clock(_ seconds: Int64) -> String {
        let whole = max(0, seconds)
        return [whole / 3600, whole / 60 % 60, whole % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }

    /// The same, of seconds that somebody else told.
    static func clock(_ seconds: Double) -> String { clock(Int64(min(max(seconds, 0), 1e9))) }

    /// With one decimal, not negative.
    static func decimal(_ value: Double) -> String {
        let tenths = Int64((min(max(value, 0), 1e12) * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
