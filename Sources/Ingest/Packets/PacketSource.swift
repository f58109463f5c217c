// SPDX-License-Identifier: Apache-2.0

package import Media
package import SourceClock

/// One place that coded packets come from, which are handed on as they are.
package protocol PacketSource: AnyObject, Sendable {
    /// Finds out what the input is. Blocks until its tracks are known, without limit if it listens, and until ``stop()``.
    /// To be called once, before ``start(into:)``.
    func open() throws(IngestError) -> PacketSourceDescription
    /// Begins to deliver into `sink`, from the first packet that came, on a thread of the source's own. Only the first
    /// call counts.
    func start(into sink: any PacketSourceSink)
    /// Ends delivery, and blocking reads with it. Returns at once; any thread, any number of times. A delivery that has
    /// begun may still arrive.
    func stop()
    /// What the source is doing. Any thread. Of ``SourceStatus/framesDecoded`` nothing is counted.
    var status: SourceStatus { get }
}

/// What a source of packets turned out to be.
package struct PacketSourceDescription: Sendable {
    /// The tracks that are known; more may come, and each may change.
    package var stream: StreamDescription
    /// Whether the source waits to be read, as a file does. Otherwise packets come at their own pace.
    package var canWait: Bool
    /// Whether new media comes at its own pace. A source that can wait may be live, too: a playlist that grows.
    package var isLive: Bool
    /// How its stamps and arrivals are taken.
    package var clock: SourceClockSettings
    /// After how many bits its stamps wrap; nil if they do not.
    package var stampBits: Int?

    /// A source with these properties; live unless it can wait, if it is not said.
    package init(
        stream: StreamDescription, canWait: Bool, isLive: Bool? = nil, clock: SourceClockSettings, stampBits: Int?
    ) {
        (self.stream, self.canWait, self.clock, self.stampBits) = (stream, canWait, clock, stampBits)
        self.isLive = isLive ?? !canWait
    }
}

/// Where a source delivers packets. One thread at a time calls, and a source that cannot wait must not be kept waiting.
package protocol PacketSourceSink: AnyObject, Sendable {
    /// Takes a packet, in the sender's order and with the sender's stamps, that was read at `arrival`. Blocks a source that
    /// can wait until there is room.
    func take(_ packet: EncodedPacket, at arrival: Timestamp)
    /// The sender is gone; what follows, if anything does, begins with ``restart()``.
    func interrupt()
    /// The sender begins again: stamps that follow have nothing to do with those before.
    func restart()
    /// Nothing follows; `failure` says why, if the source failed.
    func end(failure: String?)
}

extension PacketSourceSink {
    package func interrupt() {}
}
