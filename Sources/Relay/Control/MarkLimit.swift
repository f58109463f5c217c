// SPDX-License-Identifier: Apache-2.0

/// Bounds how often a channel is marked: a marker goes to every output, and stays in playlists for as long as these name
/// what it lies in.
struct MarkLimit {
    /// Markers in a minute.
    static let most = 60
    private static let minute: Int64 = 60_000_000_000

    /// When those of the last minute came.
    private var times: [Int64] = []

    /// Counts a marker at `now`, monotonic nanoseconds, unless there are too many.
    mutating func admit(at now: Int64) -> Bool {
        times.removeAll { now - $0 >= Self.minute }
        guard times.count < Self.most else { return false }
        times.append(now)
        return true
    }
}
