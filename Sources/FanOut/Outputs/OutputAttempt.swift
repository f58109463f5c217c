// SPDX-License-Identifier: Apache-2.0

package import Media

/// A report of an attempt to its supervisor. It may come on any thread.
package enum AttemptEvent: Sendable {
    /// The attempt is at this step: `resolve`, `connect`, `handshake`, `publish`.
    case step(String)
    /// The peer accepted the stream; the attempt waits for ``OutputAttempt/goLive()``. An attempt to which receivers
    /// connect reports this again when one connects after `awaitsCallers`.
    case accepted
    /// The attempt listens, but there are no receivers: before the first, and after the last has left.
    case awaitsCallers
    /// A message from the peer that an operator should see; without secrets.
    case notice(String)
    /// A receiver of this attempt can begin, or continue, only at a keyframe. The next regular keyframe is good enough
    /// if it comes soon.
    case wantsKeyframe
    /// A receiver lost its data and shows no video before a keyframe: request one at once, unless there was a recent
    /// request.
    case needsKeyframe
    /// The receiver that needed a keyframe has left, and no other receiver needs one.
    case wantsNoKeyframe
    /// The attempt must cut its output at a keyframe, and no keyframe came in time: request one at once.
    case keyframeIsDue
    /// The server asks us to publish again, at `address` if it names an address, and accepts data until then.
    case reconnectRequested(address: String?)
    /// The attempt ended with a failure.
    case failed(OutputFailure)
    /// All queued packets were sent and the session was closed.
    case drained
}

/// One attempt to be on air at one target. It is used once, never reopened.
///
/// No call blocks: blocking work runs on the attempt's own queue.
package protocol OutputAttempt: AnyObject, Sendable {
    /// Starts to connect.
    func start()
    /// Allows the attempt to read the queue. May be called with the output's lock held, so the attempt must not report
    /// anything during the call.
    func goLive()
    /// The server that the publishing thread wakes when the queue has new packets. It is read once, before ``start()``.
    var server: any PacketServer { get }
    /// Sends the queued packets, ends the session by the protocol's rules and reports `drained`; ``abandon()`` cuts off
    /// what is not finished by `deadline` (monotonic nanoseconds). A call before ``goLive()`` means that the program is
    /// over: an attempt that waits for receivers ends; one that is still connecting continues, and
    /// ``drain(until:reason:)`` is called again when it is live. `reason` is passed on to viewers if the protocol can
    /// express it.
    func drain(until deadline: Int64, reason: EndReason)
    /// Ends at once, without the protocol's teardown. Nothing is reported afterwards.
    func abandon()
    /// The data that was sent so far.
    var progress: AttemptProgress { get }
}

/// The amount of data that an attempt has sent.
package struct AttemptProgress: Sendable, Equatable {
    /// Bytes passed to the network, headers included.
    package var bytes: UInt64 = 0
    /// Frames passed to the network completely.
    package var frames: UInt64 = 0
    /// Packets that left the output's own queue but did not reach one of several receivers: dropped on the way, or
    /// still waiting when the receiver left.
    package var drops = DropCounts()
    /// Frames that left the output's own queue and were neither passed to the network nor dropped yet. They count as
    /// dropped if the attempt ends. With several receivers, these are the frames that wait for each of them.
    package var waitingFrames = 0
    /// Protocol-specific numbers.
    package var details = OutputDetails()

    package init() {}
}

/// A target for attempts.
package protocol OutputTarget: Sendable {
    /// The protocol in one word, such as `rtmp`.
    var kind: String { get }
    /// The address without secrets, for log and status.
    var displayAddress: String { get }
    /// Whether receivers connect to this output. Until the first receiver connects, no packet counts as missed.
    var awaitsCallers: Bool { get }
    /// What only one output can use at a time, such as a port or a directory; nil if there is no such thing. An output
    /// begins when one that leaves has released it.
    var place: String? { get }
    /// The target for a server's request to publish again at `address`, with this target's credentials and options;
    /// `nil` if the address cannot be used.
    func redirected(to address: String) -> (any OutputTarget)?
    /// Called when the program is over and no further attempt will follow. Completes what earlier attempts left open
    /// for viewers, and publishes nothing else. Calls `completion` once, on any thread; if it did not succeed, with the
    /// failure. It is called for every target at which the output was on air, even if the last attempt has already
    /// concluded there. Does not block.
    func conclude(_ completion: @escaping @Sendable (OutputFailure?) -> Void)
    /// What can be sent to this target. A stream that contains anything else is refused, and the error names it.
    var carriage: Carriage { get }
    /// Creates an attempt that sends `queue` and calls `report` with its events.
    func makeAttempt(
        queue: PacketQueue, description: StreamDescription, report: @escaping @Sendable (AttemptEvent) -> Void
    ) -> any OutputAttempt
}

extension OutputTarget {
    package var awaitsCallers: Bool { false }
    package var place: String? { nil }
    package func redirected(to address: String) -> (any OutputTarget)? { nil }
    package func conclude(_ completion: @escaping @Sendable (OutputFailure?) -> Void) { completion(nil) }
}

/// Why an output ends cleanly. Viewers need to know this: an HLS playlist says whether anything follows.
package enum EndReason: Sendable, Equatable {
    /// The program is over: its input ended, or its length was reached. Nothing follows.
    case programOver
    /// The output may continue later: a signal ended the process, the program failed, the output was paused or removed,
    /// or another address took over.
    case interrupted
}
