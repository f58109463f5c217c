// SPDX-License-Identifier: Apache-2.0

/// The limits of one output's queue, and the thresholds at which a live output begins to drop frames.
package struct QueueLimits: Sendable, Equatable {
    /// From this queued media time on, the queue refuses frames to which no other frame refers.
    package var disposableThreshold: Duration
    /// From this queued media time on, the queue refuses video until the next keyframe.
    package var videoThreshold: Duration
    /// At this queued media time, all packets before the newest queued keyframe are removed.
    package var maximumDuration: Duration
    /// When the queued payloads would exceed this number of bytes, all packets before the newest queued keyframe are
    /// removed.
    package var maximumBytes: Int
    /// Whether packets come in bursts, like the segments of a playlist. Media that arrived ahead of time then does not
    /// count as queued, see ``ArrivalPace``.
    package var takesBursts = false

    /// The default limits of a live output: 700 ms, 900 ms, 3 s and 8 MiB. OBS has the same two thresholds, so many
    /// users know them.
    package static let live = QueueLimits(
        disposableThreshold: .milliseconds(700), videoThreshold: .milliseconds(900), maximumDuration: .seconds(3),
        maximumBytes: 8 << 20)

    /// Returns these limits, changed for a queue of at most `duration`. The two thresholds become at most 70 % and 90 %
    /// of `duration`.
    package func scaled(to duration: Duration) -> QueueLimits {
        var limits = self
        limits.maximumDuration = duration
        limits.disposableThreshold = min(disposableThreshold, duration * 0.7)
        limits.videoThreshold = min(videoThreshold, duration * 0.9)
        return limits
    }

    /// These limits, changed for an input that may deliver in bursts. If the byte limit is the default, it is raised to
    /// make room for a segment of 10 s at 25 Mbit/s.
    package var forBursts: QueueLimits {
        var limits = self
        limits.takesBursts = true
        if maximumBytes == Self.live.maximumBytes { limits.maximumBytes *= 4 }
        return limits
    }
}
