// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Logging
internal import Media

/// Opens the inputs of a channel.
protocol InputOpener: Sendable {
    /// Makes the source of the packets at `location`, without opening it. `opening` can cancel the source. If clients
    /// publish to relay at `location`, the source waits for a client that has a track of the kind `needs`, or for any
    /// client if `needs` is nil.
    func packets(
        at location: InputLocation, loops: Bool, needs: TrackKind?, opening: SourceOpening?, clock: any MonotonicClock,
        logger: Logger
    ) throws(ChannelFailure) -> any PacketSource

    /// Opens `location` for decoding. Blocks until the input answers, or the `opening` is cancelled.
    func open(
        _ location: InputLocation, _ options: IngestOptions, opening: SourceOpening?, clock: any MonotonicClock,
        logger: Logger
    ) throws(ChannelFailure) -> any MediaSource

    /// Calls `work` if the opening of the channel is cancelled.
    func whenGivenUp(_ work: @escaping @Sendable () -> Void)
}
