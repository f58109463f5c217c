// SPDX-License-Identifier: Apache-2.0

internal import DequeModule

/// Counts the frames whose last message was passed to libsrt, and that the receiver has not acknowledged yet. It does no
/// I/O.
///
/// libsrt reports how many of the newest messages it still holds. A message that it no longer holds was acknowledged, or
/// libsrt dropped it because it was too late to send. A frame is acknowledged together with its last message, and lost
/// if any of its messages was dropped.
struct SRTReceipts {
    /// Frames that end with the same message, the number of messages before their first message, and the number of
    /// messages up to the end of their last one.
    private var waiting: Deque<(frames: Int, start: Int64, end: Int64)> = []
    private var messages: Int64 = 0
    /// The number of messages before the first message of the next frame; nil if that message was not passed on yet.
    private var start: Int64?
    /// The packets that libsrt had dropped at the last call, and the number of messages up to the newest one that it
    /// may have dropped.
    private var (packetsDropped, droppedEnd): (Int64, Int64) = (0, 0)
    /// The number of frames that wait for their acknowledgement.
    private(set) var frames = 0

    /// Records that a message was passed to libsrt. `isMedia` is false for a message that is not part of a frame.
    mutating func handedOver(isMedia: Bool = true) {
        if isMedia { start = start ?? messages }
        messages += 1
    }

    /// Records that `count` frames end with the newest message. `isWhole` tells whether no other frame has begun.
    mutating func completed(_ count: Int, isWhole: Bool = true) {
        defer { if isWhole { start = nil } }
        guard count > 0 else { return }
        waiting.append((count, start ?? messages, messages))
        frames += count
    }

    /// Forgets the frames that libsrt has ceased to hold, and returns how many of them were acknowledged and lost.
    /// `held` is the number of messages that libsrt holds. `dropped` is the number of packets that it has dropped since
    /// the connection began. If that number rose, all messages that libsrt has ceased to hold since the last call count
    /// as dropped.
    mutating func release(held: Int, dropped: Int64 = 0) -> (acknowledged: Int, lost: Int) {
        let reached = messages - Int64(held)
        if dropped > packetsDropped { (packetsDropped, droppedEnd) = (dropped, reached) }
        var (acknowledged, lost) = (0, 0)
        while let first = waiting.first, first.end <= reached {
            if first.start < droppedEnd { lost += first.frames } else { acknowledged += first.frames }
            waiting.removeFirst()
        }
        frames -= acknowledged + lost
        return (acknowledged, lost)
    }

    /// Returns how many frames were not acknowledged, because the connection has ended, and forgets them.
    mutating func giveUp() -> Int {
        defer { (waiting, frames) = ([], 0) }
        return frames
    }
}
