// SPDX-License-Identifier: Apache-2.0

/// The bounds of one output's queue, and where a live output begins to drop.
package struct QueueLimits: Sendable, Equatable {
    /// Media time in the queue from which frames that no other frame refers to are refused.
    package var disposableThreshold: Duration
    /// Media time in the queue from which video is refused up to the next keyframe.
    package var videoThreshold: Duration
    /// Media time at which the queue is emptied to its newest keyframe.
    package var maximumDuration: Duration
    /// Payload bytes at which the queue is emptied to its newest keyframe.
    package var maximumBytes: Int
    /// Whether packets come in bursts, as a playlist's segments do: media time counts as queued only as far as it came at
    /// the pace of the bursts or before.
    package var takesBursts = false

    /// Limits of these values.
    package init(
        disposableThreshold: Duration, videoThreshold: Duration, maximumDuration: Duration, maximumBytes: Int
    ) {
        self.disposableThreshold = disposableThreshold
        self.videoThreshold = videoThreshold
        self.maximumDuration = maximumDuration
        self.maximumBytes = maximumBytes
    }

    /// A live output's limits: 700 ms, 900 ms, 3 s, 8 MiB. The first two are those of OBS, which its users know.
    package static let live = QueueLimits(
        disposableThreshold: .milliseconds(700), videoThreshold: .milliseconds(900), maximumDuration: .seconds(3),
        maximumBytes: 8 << 20)

    /// The same limits for a queue of at most `duration`: the thresholds are not above 70 % and 90 % of it.
    package func scaled(to duration: Duration) -> QueueLimits {
        var limits = self
        limits.maximumDuration = duration
        limits.disposableThreshold = min(disposableThreshold, duration * 0.7)
        limits.videoThreshold = min(videoThreshold, duration * 0.9)
        return limits
    }

    /// The same limits for an input that may come in bursts. Unless other bounds were asked for a segment of 10 s and
    /// 25 Mbit/s finds room.
    package var forBursts: QueueLimits {
        var limits = self
        limits.takesBursts = true
        if maximumBytes == Self.live.maximumBytes { limits.maximumBytes *= 4 }
        return limits
    }
}
