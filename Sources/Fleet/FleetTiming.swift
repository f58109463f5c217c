// SPDX-License-Identifier: Apache-2.0

/// The durations that all hosts of a fleet agree on.
///
/// A takeover takes as long as the lease lives after its last keep-alive, and then the wait of the quickest claimant.
/// With a lease of 5 s and a keep-alive each 1.67 s this was 3.8 to 5.2 s on etcd 3.4, and 6.3 to 8.1 s if etcd's leader
/// stopped in the same moment (measured).
package struct FleetTiming: Sendable, Equatable {
    /// How long the store keeps a lease after a keep-alive.
    package var ttl: Duration = .seconds(5)
    /// Time from the start of one keep-alive request to the start of the next one.
    package var keepAliveInterval: Duration = .milliseconds(1670)
    /// A request without an answer for this long has failed.
    package var requestTimeout: Duration = .milliseconds(1500)
    /// A host stops sending this long before its lease can end. The margin covers two monotonic clocks whose rates
    /// differ, and a server of the store that confirms keep-alives although it is not the leader any more: it notices
    /// within one second.
    package var margin: Duration = .seconds(1)
    /// The pause after every endpoint of the store has failed once.
    package var retryPause: Duration = .milliseconds(250)
    /// After this long without a change, the host reads the store again and begins another watch.
    package var watchSilence: Duration = .seconds(3)
    /// The wait before a claim, for each host of the fleet. A host without load waits a random part of a tenth of it, a
    /// full host a random part of eleven tenths.
    package var spreadForEachHost: Duration = .milliseconds(5)
    /// The least and the longest wait before a claim by a full host.
    package var spread: ClosedRange<Duration> = .milliseconds(200) ... .seconds(1)
    /// A host that the channel does not prefer waits this much longer.
    package var unpreferredWait: Duration = .seconds(1)
    /// A host that is not the target of a move waits this much longer.
    package var notMovedHereWait: Duration = .seconds(3)
    /// A host that is being drained waits this much longer. It still takes a channel that no other host takes.
    package var drainingWait: Duration = .seconds(10)
    /// A host on which the channel failed waits this much longer, and twice as long after each further failure.
    package var failureWait: Duration = .seconds(2)
    /// The longest wait after failures.
    package var longestFailureWait: Duration = .seconds(60)

    /// The usual durations.
    package init() {}

    /// How long a host may send after the start of a keep-alive request that the store confirmed.
    package var sendingTime: Duration { ttl - margin }
}
