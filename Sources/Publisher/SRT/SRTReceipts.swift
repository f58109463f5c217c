// SPDX-License-Identifier: Apache-2.0

internal import DequeModule

/// Counts the frames whose last message was passed to libsrt, and that the receiver has not acknowledged yet. It does no
/// I/O.
///
/// libsrt reports how many of the newest messages are not acknowledged. A frame is acknowledged together with its last
/// message.
struct SRTReceipts {
    /// Frames that end with the same message, and the number of messages up to the end of that message.
    private var waiting: Deque<(frames: Int, end: Int64)> = []
    private var messages: Int64 = 0
    /// The number of frames that wait for their acknowledgement.
    private(set) var frames = 0

    /// Records that a message was passed to libsrt.
    mutating func handedOver() { messages += 1 }

    /// Records that `count` frames end with the newest message.
    mutating func completed(_ count: Int) {
        guard count > 0 else { return }
        waiting.append((count, messages))
        frames += count
    }

    /// Returns how many frames were acknowledged since the last call, if the newest `unacknowledged` messages are not.
    mutating func acknowledged(upTo unacknowledged: Int) -> Int {
        let reached = messages - Int64(unacknowledged)
        var count = 0
        while let first = waiting.first, first.end <= reached {
            count += first.frames
            waiting.removeFirst()
        }
        frames -= count
        return count
    }

    /// Returns how many frames were not acknowledged, because the connection has ended, and forgets them.
    mutating func giveUp() -> Int {
        defer { (waiting, frames) = ([], 0) }
        return frames
    }
}
