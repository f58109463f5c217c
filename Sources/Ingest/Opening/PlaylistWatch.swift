// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Detects from the successive contents of a live HLS playlist that its server has started it again with smaller media
/// sequence numbers. libavformat then waits for the next number of the earlier playlist, and reads nothing.
///
/// The playlist is read only once a minute, except while libavformat waits for a segment longer than usual.
///
/// This type is a value, and does no I/O.
struct PlaylistWatch: Sendable {
    /// What the content of the playlist means.
    enum Verdict: Sendable, Hashable {
        /// The playlist was not started again, or this is not certain yet.
        case continues
        /// The server has started the playlist again.
        case restarted
    }

    /// The pause between two readings of the playlist while segments arrive.
    static let usualPause = Duration.seconds(60)

    /// The state of the playlist while libavformat waits for a segment.
    private struct Wait: Sendable {
        /// The time at which the wait began.
        let start: MonotonicInstant
        /// The media sequence number after the playlist's last segment, when the playlist was first read during the
        /// wait.
        var end: Int64
        /// The time at which a new segment was first found in the playlist; nil as long as there is no new segment.
        var advancedAt: MonotonicInstant?
    }

    /// The maximum duration of the playlist's segments.
    private let target: Duration
    /// The media sequence numbers that the playlist listed when its end was highest; nil before the first reading.
    private var listed: Range<Int64>?
    /// When the playlist was read last; nil if it was not read yet.
    private var readAt: MonotonicInstant?
    private var wait: Wait?

    /// Creates a watch of a playlist whose segments last up to `target`.
    init(target: Duration) { self.target = target }

    /// If libavformat waits for a segment longer than this, the server may have restarted the playlist. Normally
    /// libavformat finds the next segment after 1.5 target durations at the latest.
    private var patience: Duration { target + target / 2 + .seconds(1) }

    /// Whether the playlist must be read at `time`. `start` is the time since which a read of libavformat has been
    /// waiting; nil if no read is waiting.
    func isDue(at time: MonotonicInstant, waitingSince start: MonotonicInstant?) -> Bool {
        guard let readAt else { return true }
        let isLate = start.map { time - $0 >= patience } ?? false
        return time - readAt >= (isLate ? max(target, .seconds(1)) : Self.usualPause)
    }

    /// Judges the playlist `head` that was read at `time`; `head` is nil if the playlist could not be read. `start` is
    /// the time since which a read of libavformat has been waiting; nil if no read is waiting.
    mutating func note(_ head: PlaylistHead?, at time: MonotonicInstant, waitingSince start: MonotonicInstant?)
        -> Verdict
    {
        readAt = time
        guard let head, let end = head.end, head.first < end else { return .continues }
        let before = listed
        if end > before?.upperBound ?? .min { listed = head.first..<end }
        guard let start, time - start >= patience else {
            self.wait = nil
            return .continues
        }
        // A server of a content delivery network may be some segments behind the other servers, but not by a whole
        // playlist. So the playlist was started again.
        if let before, end <= before.lowerBound { return .restarted }
        guard var current = self.wait, current.start == start, end >= current.end else {
            self.wait = Wait(start: start, end: end)
            return .continues
        }
        // libavformat reads a playlist again after half a target duration, so within a whole target duration it has
        // seen the new segment. If it still waits, it waits for another number.
        if let advancedAt = current.advancedAt, time - advancedAt >= target { return .restarted }
        if current.advancedAt == nil, end > current.end { current.advancedAt = time }
        self.wait = current
        return .continues
    }
}
