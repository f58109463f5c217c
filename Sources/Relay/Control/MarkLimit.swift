// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Limits how many markers a channel takes per minute. The limit is necessary because each marker goes to every output,
/// and stays in a playlist as long as its segment is listed.
struct MarkLimit {
    /// The maximum number of markers per minute.
    static let most = 60
    private static let minute = Duration.seconds(60)

    /// The times of the markers that were counted within the last minute.
    private var times: [MonotonicInstant] = []

    /// Counts a marker at `now`. If ``most`` markers were already counted within the last
    /// minute, does not count it, and returns false.
    mutating func admit(at now: MonotonicInstant) -> Bool {
        times.removeAll { now - $0 >= Self.minute }
        guard times.count < Self.most else { return false }
        times.append(now)
        return true
    }
}
