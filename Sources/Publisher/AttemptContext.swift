// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import Media

/// What a connection attempt works with: the queue on which it runs, the packets that it sends, and the report of its
/// events.
struct AttemptContext: ~Copyable, Sendable {
    /// Runs the attempt.
    let executor: QueueExecutor
    /// The packets that the attempt sends.
    let packets: PacketQueue
    /// The tracks and codecs of the stream when the attempt was made.
    let streams: StreamDescription
    let clock: any MonotonicClock
    /// Passes the attempt's events to the supervisor, and knows whether the attempt has ended.
    let report: AttemptReport
    /// Combines the wake-ups of a ``ServingAttempt``.
    let wakes = WakeFlag()

    /// The context of an attempt that runs on `queue`, which must be serial.
    init(
        on queue: DispatchQueue, packets: PacketQueue, description: StreamDescription,
        clock: any MonotonicClock = SystemClock(), report: @escaping @Sendable (AttemptEvent) -> Void
    ) {
        executor = QueueExecutor(queue)
        self.packets = packets
        self.clock = clock
        self.report = AttemptReport(clock: clock, report)
        streams = description
    }
}
