// SPDX-License-Identifier: Apache-2.0

public import Media

/// Something that the fan-out feeds: an output or a recorder. No call blocks.
public protocol PacketConsumer: AnyObject, Sendable {
    /// Queues packets. Those of both tracks come in decoding order.
    func accept(_ packets: [EncodedPacket])
    /// Serves what was queued. Called after each picture, when all consumers have it, and at the end.
    func wake()
    /// No packet follows: end cleanly by `deadline` (monotonic nanoseconds), then call `completion` once.
    func finish(deadline: Int64, completion: @escaping @Sendable () -> Void)
    /// End at once.
    func stop()
}
