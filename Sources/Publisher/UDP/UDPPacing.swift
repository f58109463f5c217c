// SPDX-License-Identifier: Apache-2.0

/// Spreads the datagrams of one frame over the time until the next.
///
/// A receiver on the same segment, and each switch on the way, then needs a buffer of a few datagrams only, where a burst
/// of a whole IDR frame overruns it.
struct UDPPacing {
    /// The time over which a frame is spread, in nanoseconds: nine tenths of a frame, so that it is gone before the
    /// next comes.
    private(set) var window: Int64 = 1
    private var start: Int64 = 0
    private var total = 0
    private var sent = 0

    /// No frame came yet.
    init() {}

    /// Time between two looks at the clock, in nanoseconds: eight to a frame, but no more than 500 a second.
    var tick: Int64 { max(2_000_000, window / 8) }

    /// A frame of `count` datagrams that lasts `frame` nanoseconds is to go out from `now` on.
    mutating func begin(count: Int, at now: Int64, frame: Int64) {
        (start, total, sent) = (now, count, 0)
        window = max(1, frame / 10 * 9)
    }

    /// How many datagrams may go out at `now`, at least one of each frame.
    func due(at now: Int64) -> Int {
        let elapsed = min(max(0, now - start), window)
        // At its start already the share of the first tick.
        let share = Double(elapsed + min(tick, window)) / Double(window)
        return min(total, max(1, Int((Double(total) * share).rounded(.up)))) - sent
    }

    /// Notes that `count` datagrams went out.
    mutating func note(sent count: Int) { sent = min(total, sent + count) }
}
