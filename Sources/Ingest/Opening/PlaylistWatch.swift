// SPDX-License-Identifier: Apache-2.0

/// Detects from the successive contents of a live HLS playlist that its server has started it again with smaller media
/// sequence numbers. libavformat waits for the next number of the earlier playlist then, and reads nothing.
///
/// The playlist is read only once a minute, except while libavformat waits for a segment longer than usual.
///
/// This type is a value, and does no I/O.
struct PlaylistWatch: Sendable {
    /// What the content of the playlist means.
    enum Verdict: Sendable, Hashable {
        /// The playlist is the same as before, or nothing is known.
        case continues
        /// The playlist was started again.
        case restarted
    }

    /// The pause between two readings of the playlist while segments arrive.
    static let usualPause = Duration.seconds(60)

    /// The state of the playlist while libavformat waits for a segment.
    private struct Wait: Sendable {
        /// The time at which the wait began.
        let start: Duration
        /// The media sequence number after the playlist's last segment, when it was first read.
        var end: Int64
        /// The time at which the playlist was found with a new segment; nil as long as it has none.
        var advancedAt: Duration?
    }

    /// The maximum duration of the playlist's segments.
    private let target: Duration
    /// The newest media sequence numbers that the playlist listed.
    private var listed: Range<Int64>?
    /// When the playlist was read last; nil if it was not read yet.
    private var readAt: Duration?
    private var wait: Wait?

    /// A watch of a playlist with this target duration.
    init(target: Duration) { self.target = target }

    /// How long libavformat may wait for a segment before the playlist is suspected. If all is well, it finds the next
    /// segment after 1.5 target durations at the latest.
    private var patience: Duration { target + target / 2 + .seconds(1) }

    /// Whether to read the playlist at `time`, while a read of libavformat waits since `start`; nil if no read waits.
    func isDue(at time: Duration, waitingSince start: Duration?) -> Bool {
        guard let readAt else { return true }
        let isLate = start.map { time - $0 >= patience } ?? false
        return time - readAt >= (isLate ? max(target, .seconds(1)) : Self.usualPause)
    }

    /// Notes the playlist that was read at `time`, while a read of libavformat waited since `start`. `head` is nil if
    /// the playlist could not be read.
    mutating func note(_ head: PlaylistHead?, at time: Duration, waitingSince start: Duration?) -> Verdict {
        readAt = time
        guard let head, let end = head.end, head.first < end else { return .continues }
        let before = listed
        if end > before?.upperBound ?? .min { listed = head.first..<end }
        guard let start, time - start >= patience else {
            self.wait = nil
            return .continues
        }
        // A server of a network for content delivery may be some segments behind the others, but not by all of them.
        if let before, end <= before.lowerBound { return .restarted }
        guard var current = self.wait, current.start == start, end >= current.end else {
            self.wait = Wait(start: start, end: end)
            return .continues
        }
        // libavformat reads a playlist again after half a target duration, so it has seen the new segment.
        if let advancedAt = current.advancedAt, time - advancedAt >= target { return .restarted }
        if current.advancedAt == nil, end > current.end { current.advancedAt = time }
        self.wait = current
        return .continues
    }
}
