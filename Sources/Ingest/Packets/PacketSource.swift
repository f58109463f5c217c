// SPDX-License-Identifier: Apache-2.0

package import Media
package import SourceClock

/// A source of encoded packets, which are passed on without re-encoding.
package protocol PacketSource: AnyObject, Sendable {
    /// Opens the input and returns its properties. Blocks until its tracks are known or ``stop()`` is called, without a
    /// time limit if the input listens. To be called once, before ``start(into:)``.
    func open() throws(IngestError) -> PacketSourceDescription
    /// Begins to deliver into `sink`, from the first packet that was received, on a thread of its own. Only the first
    /// call has an effect.
    func start(into sink: any PacketSourceSink)
    /// Ends delivery and all blocking reads. Returns at once; may be called on any thread, any number of times. A
    /// delivery that has begun can still reach the sink.
    func stop()
    /// The current status of the source. May be read on any thread. ``SourceStatus/framesDecoded`` stays 0.
    var status: SourceStatus { get }
}

/// The properties of a source of packets that were found when it was opened.
package struct PacketSourceDescription: Sendable {
    /// The known tracks. Other tracks can appear later, and each track can change.
    package var stream: StreamDescription
    /// Whether the source can be blocked without losing packets, as a file can. Otherwise packets arrive in real time.
    package var canWait: Bool
    /// Whether the source produces new media in real time. A source that can be blocked can also be live, as a growing
    /// playlist is.
    package var isLive: Bool
    /// How the source's timestamps and the arrival times of its packets are converted to due times.
    package var clock: SourceClockSettings
    /// Number of bits after which the source's timestamps wrap; nil if they do not wrap.
    package var stampBits: Int?

    /// Creates a description with these properties. If `isLive` is nil, the source is live unless it can be blocked.
    package init(
        stream: StreamDescription, canWait: Bool, isLive: Bool? = nil, clock: SourceClockSettings, stampBits: Int?
    ) {
        (self.stream, self.canWait, self.clock, self.stampBits) = (stream, canWait, clock, stampBits)
        self.isLive = isLive ?? !canWait
    }
}

/// The receiver of a source's packets. Only one thread at a time calls it, and its calls must not block a source that
/// cannot wait.
package protocol PacketSourceSink: AnyObject, Sendable {
    /// Receives a packet that was read at `arrival`, in the sender's order and with the sender's timestamps. Blocks the
    /// source until the sink has room, if the source can be blocked.
    func take(_ packet: EncodedPacket, at arrival: MonotonicInstant)
    /// Reports that the sender has disconnected. If packets follow, ``restart()`` is called before them.
    func interrupt()
    /// Reports that the sender restarts: the timestamps that follow are unrelated to the earlier ones.
    func restart()
    /// Reports that no packets follow. `failure` is the reason if the source failed, and otherwise nil.
    func end(failure: String?)
}

extension PacketSourceSink {
    package func interrupt() {}
}
