// SPDX-License-Identifier: Apache-2.0

/// Limits how often a channel is marked: a marker goes to every output, and stays in playlists as long as they list the
/// segment that contains it.
struct MarkLimit {
    /// The maximum number of markers per minute.
    static let most = 60
    private static let minute: Int64 = 60_000_000_000

    /// The times of the markers in the last minute.
    private var times: [Int64] = []

    /// Counts a marker at `now`, monotonic nanoseconds, unless there are too many.
    mutating func admit(at now: Int64) -> Bool {
        times.removeAll { now - $0 >= Self.minute }
        guard times.count < Self.most else { return false }
        times.append(now)
        return true
    }
}
