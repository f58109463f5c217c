// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Takes coded packets in decoding order of both tracks.
///
/// Both calls return at once: a sink neither blocks nor waits for I/O.
package protocol PacketSink: AnyObject, Sendable {
    /// Takes one packet.
    func publish(_ packet: EncodedPacket)
    /// Says that no packet follows.
    func finish()
}

/// The one narrow request that travels upstream.
package protocol KeyframeRequester: Sendable {
    /// Asks that the first frame at or after `programTime` (nanoseconds since the program's start) be an IDR frame;
    /// nil means as soon as possible. A request as soon as possible is rate-limited; one for a given time is not,
    /// because it belongs to a recording's cut. May be called on any thread; returns at once.
    func requestKeyframe(at programTime: Int64?)
}

/// Passes one asker's requests on and counts them. All calls may come from any thread.
package final class CountedKeyframes: KeyframeRequester {
    /// Requests so far.
    package struct Counts: Sendable, Codable, Equatable {
        /// Those for a given time, which are always met.
        package var timed = 0
        /// Those for as soon as possible.
        package var prompt = 0

        /// No request yet.
        package init() {}
    }

    private let requester: any KeyframeRequester
    private let state = Mutex(Counts())

    /// Passes requests on to `requester`.
    package init(_ requester: any KeyframeRequester) { self.requester = requester }

    /// Requests so far.
    package var counts: Counts { state.withLock { $0 } }

    package func requestKeyframe(at programTime: Int64?) {
        state.withLock { counts in
            if programTime == nil { counts.prompt += 1 } else { counts.timed += 1 }
        }
        requester.requestKeyframe(at: programTime)
    }
}
