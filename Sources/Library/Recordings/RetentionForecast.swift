// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Segmenter

/// Estimates when retention deletes files, if the recording continues at its present rate, and nothing else is written to
/// the disk. Uses neither clock nor disk.
///
/// Limits on the total size and on the free space require a deletion as soon as the recording has filled the room that is
/// left. Each deletion makes room for as many bytes as the deleted file had.
struct RetentionForecast {
    private let rules: RetentionRules
    /// The bytes that can be recorded before the first deletion; nil if there is no such limit, or it is not known.
    private let room: Int64?
    /// The rate of the recording in bytes per second; nil if it is not known.
    private let rate: Double?
    /// The present time, in milliseconds since 1970.
    private let now: Int64
    /// The bytes of the files that are deleted before the next one.
    private var freed: Int64 = 0

    /// The last moment of the year 9999, in milliseconds since 1970.
    private static let latest: Int64 = 253_402_300_799_999

    /// Creates a forecast by `rules` at the time `now`. `room` is the number of bytes that can still be recorded before
    /// the first deletion, and `rate` the number of bytes that are recorded each second, 0 if nothing is recorded.
    init(rules: RetentionRules, room: Int64?, rate: Double?, now: Int64) {
        (self.rules, self.room, self.rate, self.now) = (rules, room, rate, now)
    }

    /// Returns about when the next file is deleted, in milliseconds since 1970; nil if that is not known, or never at
    /// the present rate. The file has `bytes` bytes, ended at `end`, and becomes too old at `expiry`. The files are
    /// passed in the order in which they are deleted.
    mutating func time(ofNext bytes: Int64, end: Int64, expiry: Int64?) -> Int64? {
        defer { freed += bytes }
        let (oldEnough, overflow) = end.addingReportingOverflow(max(0, rules.minimumAge.inMilliseconds))
        let full = overflow ? nil : timeOfFullRoom.map { max($0, oldEnough) }
        return [full, expiry].compactMap { $0 }.filter { $0 <= Self.latest }.min()
    }

    /// When the recording has filled the room that is left, including that of the files deleted before.
    private var timeOfFullRoom: Int64? {
        guard let room else { return nil }
        let left = Double(room) + Double(freed)
        if left < 0 { return now }
        guard let rate, rate > 0 else { return nil }
        let wait = left / rate * 1000
        return wait < Double(Self.latest) ? now + Int64(wait) : nil
    }
}
