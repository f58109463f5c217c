// SPDX-License-Identifier: Apache-2.0

/// The limits of one output's queue, and the thresholds at which a live output begins to drop.
package struct QueueLimits: Sendable, Equatable {
    /// Queued media time above which frames to which no other frame refers are refused.
    package var disposableThreshold: Duration
    /// Queued media time above which video is refused until the next keyframe.
    package var videoThreshold: Duration
    /// Queued media time at which the queue is emptied to its newest keyframe.
    package var maximumDuration: Duration
    /// Queued payload bytes at which the queue is emptied to its newest keyframe.
    package var maximumBytes: Int
    /// Whether packets come in bursts, like a playlist's segments: media counts as queued only if it did not arrive
    /// ahead of time, see ``ArrivalPace``.
    package var takesBursts = false

    package init(
        disposableThreshold: Duration, videoThreshold: Duration, maximumDuration: Duration, maximumBytes: Int
    ) {
        self.disposableThreshold = disposableThreshold
        self.videoThreshold = videoThreshold
        self.maximumDuration = maximumDuration
        self.maximumBytes = maximumBytes
    }

    /// A live output's limits: 700 ms, 900 ms, 3 s, 8 MiB. The first two are the same as in OBS, so users know them.
    package static let live = QueueLimits(
        disposableThreshold: .milliseconds(700), videoThreshold: .milliseconds(900), maximumDuration: .seconds(3),
        maximumBytes: 8 << 20)

    /// The same limits for a queue of at most `duration`: the thresholds are at most 70 % and 90 % of it.
    package func scaled(to duration: Duration) -> QueueLimits {
        var limits = self
        limits.maximumDuration = duration
        limits.disposableThreshold = min(disposableThreshold, duration * 0.7)
        limits.videoThreshold = min(videoThreshold, duration * 0.9)
        return limits
    }

    /// The same limits for an input that may deliver in bursts. The default byte limit is raised to make room for a
    /// segment of 10 s at 25 Mbit/s.
    package var forBursts: QueueLimits {
        var limits = self
        limits.takesBursts = true
        if maximumBytes == Self.live.maximumBytes { limits.maximumBytes *= 4 }
        return limits
    }
}
