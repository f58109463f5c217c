// SPDX-License-Identifier: Apache-2.0

/// Spreads the datagrams of one frame over the time until the next frame.
///
/// A receiver on the same segment, and each switch on the way, then needs a buffer of only a few datagrams. A burst of
/// a whole IDR frame would overrun such a buffer.
struct UDPPacing {
    /// The time over which a frame is spread, in nanoseconds: nine tenths of the frame, so that everything is sent
    /// before the next frame comes.
    private(set) var window: Int64 = 1
    private var start: Int64 = 0
    private var total = 0
    private var sent = 0

    /// The state before the first frame.
    init() {}

    /// The interval of the timer, in nanoseconds: an eighth of a frame, but at least 2 ms.
    var tick: Int64 { max(2_000_000, window / 8) }

    /// Starts to pace a frame of `count` datagrams that lasts `frame` nanoseconds, at `now`.
    mutating func begin(count: Int, at now: Int64, frame: Int64) {
        (start, total, sent) = (now, count, 0)
        window = max(1, frame / 10 * 9)
    }

    /// Returns how many datagrams may be sent at `now`; at least one for each frame.
    func due(at now: Int64) -> Int {
        let elapsed = min(max(0, now - start), window)
        // The datagrams of the first interval may be sent at once.
        let share = Double(elapsed + min(tick, window)) / Double(window)
        return min(total, max(1, Int((Double(total) * share).rounded(.up)))) - sent
    }

    /// Records that `count` datagrams were sent.
    mutating func note(sent count: Int) { sent = min(total, sent + count) }
}
