// SPDX-License-Identifier: Apache-2.0

package import Media

/// An event that an attempt reports to its output's supervisor, on any thread.
package enum AttemptEvent: Sendable {
    /// The attempt has reached this step, such as `resolve`, `connect`, `handshake` or `publish`.
    case step(String)
    /// The peer accepted the stream. The attempt now waits for ``OutputAttempt/goLive()``. An attempt that listens for
    /// receivers reports this again when a receiver connects after ``awaitsCallers``.
    case accepted
    /// The attempt listens, but no receiver is connected: the first one has not come, or the last one has left.
    case awaitsCallers
    /// The attempt has a message for an operator, for example one from the peer. The text contains no secrets.
    case notice(String)
    /// A receiver of this attempt can begin or continue only at a keyframe. The output may wait for the next regular
    /// keyframe before it requests one, see ``KeyframePatience``.
    case wantsKeyframe
    /// A receiver of this attempt lost data and shows no video before the next keyframe. The output requests one at
    /// once, unless there was a recent request.
    case needsKeyframe
    /// No receiver of this attempt needs a keyframe any more, because the receiver that needed one has left.
    case wantsNoKeyframe
    /// The attempt must begin a new segment at a keyframe, and no keyframe came in time. The output requests one at
    /// once.
    case keyframeIsDue
    /// The server asks the output to connect and publish again, at `address` if that is not nil. Until the output
    /// publishes again, the server accepts data on the present connection.
    case reconnectRequested(address: String?)
    /// The attempt failed and has ended.
    case failed(OutputFailure)
    /// The attempt ends and does not listen any more. Its connections may still last for a while.
    case stoppedListening
    /// The attempt has sent all queued packets and closed its session.
    case drained
}

/// One attempt to be on air at one target: one connection, or one listening socket. An attempt is used once and never
/// started again.
///
/// No method blocks. Work that can block runs on the attempt's own dispatch queue.
package protocol OutputAttempt: AnyObject, Sendable {
    /// Starts to connect, or to listen.
    func start()
    /// Allows the attempt to read packets from its queue. The caller may hold the output's lock, so the attempt must
    /// not report an event during this call.
    func goLive()
    /// The server that the publishing thread wakes when the attempt's queue has new packets. This property is read only
    /// once, before ``start()``.
    var server: any PacketServer { get }
    /// Sends the queued packets, ends the session by the protocol's rules and then reports `drained`. If this is not
    /// complete at `deadline`, the caller ends the attempt by ``abandon()``. A call before ``goLive()`` means that the
    /// program is over. An attempt that waits for receivers must then end. An attempt that is still connecting must
    /// continue to connect; this method is called again when it is live. The attempt tells viewers `reason` if the
    /// protocol can express it.
    func drain(until deadline: MonotonicInstant, reason: EndReason)
    /// Ends the attempt at once, without the protocol's teardown. The attempt reports no event afterwards.
    func abandon()
    /// How much the attempt has sent so far.
    var progress: AttemptProgress { get }
}

/// The totals of what an attempt has sent and of what it has dropped.
package struct AttemptProgress: Sendable, Equatable {
    /// The number of bytes that were passed to the network or written to files, headers included.
    package var bytes: UInt64 = 0
    /// The number of frames that were completely passed to the network or written to files; by SRT, of those that the
    /// receiver has acknowledged.
    package var frames: UInt64 = 0
    /// Packets that the attempt took from the output's queue but that did not reach the receiver, or one of several
    /// receivers. They were dropped, or were still waiting when the connection ended.
    package var drops = DropCounts()
    /// The number of frames that the attempt took from the output's queue and that were neither passed to the network
    /// or written to files, nor dropped yet. If the attempt ends, they count as dropped. With several receivers, a
    /// frame counts once for each receiver for which it waits.
    package var waitingFrames = 0
    /// Numbers that only some protocols have.
    package var details = OutputDetails()

    package init() {}
}

/// A destination of an output: it knows one address and makes attempts to be on air there.
package protocol OutputTarget: Sendable {
    /// The protocol, for the status.
    var kind: OutputKindName { get }
    /// The address without secrets, for log and status.
    var displayAddress: String { get }
    /// Whether the output listens, so that receivers connect to relay. Until the first receiver connects, no packet
    /// counts as missed.
    var awaitsCallers: Bool { get }
    /// The port or directory that the target occupies; nil if it occupies neither.
    var place: OutputPlace? { get }
    /// Whether ``place`` can be one of several names of a directory, so that ``realPlace`` must be compared, too.
    var hasRealPlace: Bool { get }
    /// The directory that the target occupies, if ``hasRealPlace`` is set; nil otherwise. If the target has not opened
    /// the directory yet, this blocks on the disk for at most 3 s.
    var realPlace: OutputPlace? { get }
    /// Closes the resources that the target holds open for later attempts, such as a listening socket, because its
    /// output was removed. Connections of the present attempt stay open. Does not block.
    func leave()
    /// Makes a target for `address`, with this target's credentials and options, because the server asks the output to
    /// publish there; nil if the address cannot be used.
    func redirected(to address: String) -> (any OutputTarget)?
    /// Completes what earlier attempts left open for viewers, for example a playlist without its end. Publishes nothing
    /// else. The supervisor calls this when the program is over and no attempt will follow, for every target at which
    /// the output was on air, even if the last attempt has already completed everything there. Calls `completion` once,
    /// on any thread, with the failure or with nil. Does not block.
    func conclude(_ completion: @escaping @Sendable (OutputFailure?) -> Void)
    /// The codecs that can be sent to this target. A stream with any other codec is refused, and the error names that
    /// codec.
    var carriage: Carriage { get }
    /// Creates an attempt that sends the packets of `queue` and calls `report` with its events.
    func makeAttempt(
        queue: PacketQueue, description: StreamDescription, report: @escaping @Sendable (AttemptEvent) -> Void
    ) -> any OutputAttempt
}

extension OutputTarget {
    package var awaitsCallers: Bool { false }
    package var place: OutputPlace? { nil }
    package var hasRealPlace: Bool { false }
    package var realPlace: OutputPlace? { nil }
    package func leave() {}
    package func redirected(to address: String) -> (any OutputTarget)? { nil }
    package func conclude(_ completion: @escaping @Sendable (OutputFailure?) -> Void) { completion(nil) }
}

/// Why an output ends cleanly. Some protocols tell viewers the reason: an HLS playlist says whether more media follows.
package enum EndReason: Sendable, Equatable {
    /// The program is over, because its input ended or its length was reached. No more media follows.
    case programOver
    /// The output may continue later. A signal ended the process, the program failed, the output was paused or removed,
    /// or another attempt took over.
    case interrupted
}
