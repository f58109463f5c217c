// SPDX-License-Identifier: Apache-2.0

/// Limits how many markers a channel takes per minute. The limit is necessary because each marker goes to every output,
/// and stays in a playlist as long as its segment is listed.
struct MarkLimit {
    /// The maximum number of markers per minute.
    static let most = 60
    private static let minute: Int64 = 60_000_000_000

    /// The times of the markers that were counted within the last minute, in monotonic nanoseconds.
    private var times: [Int64] = []

    /// Counts a marker at `now`, in monotonic nanoseconds. If ``most`` markers were already counted within the last
    /// minute, does not count it, and returns false.
    mutating func admit(at now: Int64) -> Bool {
        times.removeAll { now - $0 >= Self.minute }
        guard times.count < Self.most else { return false }
        times.append(now)
        return true
    }
}
