// SPDX-License-Identifier: Apache-2.0

package import Media

/// What an attempt reports. Each attempt reports to the supervisor that made it, on any thread.
package enum AttemptEvent: Sendable {
    /// It is at this step now: `resolve`, `connect`, `handshake`, `publish`.
    case step(String)
    /// The peer accepted the stream; the attempt waits for ``OutputAttempt/goLive()``. An attempt that receivers call tells
    /// it again when one calls after `awaitsCallers`.
    case accepted
    /// The attempt is open for receivers that call, and none is there: before the first, and after the last has left.
    case awaitsCallers
    /// The peer said something worth an operator's eye; without secrets.
    case notice(String)
    /// A receiver of this attempt can begin, or continue, at a keyframe only. One that comes soon will do.
    case wantsKeyframe
    /// A receiver lost what it had got and shows nothing before a keyframe: one is asked for at once, unless that was done
    /// lately.
    case needsKeyframe
    /// The receiver that wanted a keyframe is gone, and no other one wants one.
    case wantsNoKeyframe
    /// What this attempt writes must be cut at a keyframe, and none came in time: one is asked for at once.
    case keyframeIsDue
    /// The server asks us to publish again, at `address` if it names one, and takes what is sent until then.
    case reconnectRequested(address: String?)
    /// The attempt is over.
    case failed(OutputFailure)
    /// Everything queued went out and the session was closed.
    case drained
}

/// One attempt to be on air at one target. It is used once and thrown away, never reopened.
///
/// No call blocks: what can block runs on a queue of the attempt's own.
package protocol OutputAttempt: AnyObject, Sendable {
    /// Begins to connect.
    func start()
    /// The queue may be read from now on. May be called while the output's lock is held: nothing may be reported from
    /// within.
    func goLive()
    /// Who is to be woken by the publishing thread when the queue has something new. Asked once, before ``start()``.
    var server: any PacketServer { get }
    /// Sends what is queued, ends the session by the protocol's rules and reports `drained`; whatever has not happened
    /// by `deadline` (monotonic nanoseconds) is left to ``abandon()``. Before ``goLive()`` it means that the program is
    /// over: an attempt that waits for callers ends; one that is connecting continues, and is told again when it is
    /// live. `reason` is for viewers, where the protocol has words for it.
    func drain(until deadline: Int64, reason: EndReason)
    /// Ends at once, without the protocol's teardown. Nothing is reported afterwards.
    func abandon()
    /// What went out so far.
    var progress: AttemptProgress { get }
}

/// What one attempt has sent.
package struct AttemptProgress: Sendable, Equatable {
    /// Bytes handed to the network, headers included.
    package var bytes: UInt64 = 0
    /// Frames handed to the network completely.
    package var frames: UInt64 = 0
    /// What was taken from the output's own queue and did not reach one of several receivers: dropped on the way, or still
    /// waiting when the receiver left.
    package var drops = DropCounts()
    /// What the protocol tells beside that.
    package var details = OutputDetails()

    /// Nothing sent yet.
    package init() {}
}

/// A target that attempts can be made at.
package protocol OutputTarget: Sendable {
    /// The protocol in one word, such as `rtmp`.
    var kind: String { get }
    /// The address without secrets, for log and status.
    var displayAddress: String { get }
    /// Whether receivers call the output; until one does, the output misses nothing.
    var awaitsCallers: Bool { get }
    /// The target that a server means when it asks us to publish again at `address`, with this one's credentials and
    /// options; `nil` if the address is of no use.
    func redirected(to address: String) -> (any OutputTarget)?
    /// The program is over, and no attempt at this target follows: completes what earlier ones left open for viewers,
    /// and publishes nothing else. Calls `completion` once, on any thread, with the failure if it did not succeed.
    /// Called for every target that the output was on air at, also when its last attempt did so already; does not
    /// block.
    func conclude(_ completion: @escaping @Sendable (OutputFailure?) -> Void)
    /// What can be sent there. A stream with something else is refused by name.
    var carriage: Carriage { get }
    /// A fresh attempt that sends `queue` and tells `report` what happens.
    func makeAttempt(
        queue: PacketQueue, description: StreamDescription, report: @escaping @Sendable (AttemptEvent) -> Void
    ) -> any OutputAttempt
}

extension OutputTarget {
    package var awaitsCallers: Bool { false }
    package func redirected(to address: String) -> (any OutputTarget)? { nil }
    package func conclude(_ completion: @escaping @Sendable (OutputFailure?) -> Void) { completion(nil) }
}
