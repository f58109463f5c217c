// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Logging
internal import Media

/// Opens the inputs of a channel.
protocol InputOpener: Sendable {
    /// Makes the source of the packets at `location`, which is not open yet and which an `opening` may cancel.
    func packets(
        at location: InputLocation, loops: Bool, opening: SourceOpening?, clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) -> any PacketSource

    /// Opens `location` to be decoded. Blocks until the input answers, or the `opening` is cancelled.
    func open(
        _ location: InputLocation, _ options: IngestOptions, opening: SourceOpening?, clock: any MonotonicClock,
        logger: Logger
    ) throws(ChannelFailure) -> any MediaSource

    /// Does `work` when the channel is given up while it is being opened.
    func whenGivenUp(_ work: @escaping @Sendable () -> Void)
}
