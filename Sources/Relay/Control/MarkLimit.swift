// SPDX-License-Identifier: Apache-2.0

/// Limits how often a channel is marked. The limit is necessary because each marker goes to every output, and stays in
/// a playlist as long as its segment is listed.
struct MarkLimit {
    /// The maximum number of markers per minute.
    static let most = 60
    private static let minute: Int64 = 60_000_000_000

    /// The times of the last minute's markers.
    private var times: [Int64] = []

    /// Counts a marker at `now`, in monotonic nanoseconds; returns false if there are too many.
    mutating func admit(at now: Int64) -> Bool {
        times.removeAll { now - $0 >= Self.minute }
        guard times.count < Self.most else { return false }
        times.append(now)
        return true
    }
}
