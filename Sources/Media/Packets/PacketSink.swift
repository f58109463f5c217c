// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Receives the coded packets of all tracks in decoding order.
///
/// Both methods return at once: a sink neither blocks nor waits for I/O, unless its own comment says otherwise.
package protocol PacketSink: AnyObject, Sendable {
    /// Receives one packet.
    func publish(_ packet: EncodedPacket)
    /// Reports that no packet follows.
    func finish()
}

/// The only kind of request that outputs send back to the encoder.
package protocol KeyframeRequester: Sendable {
    /// Asks that the first frame at or after `programTime` be an IDR frame; nil means as soon as
    /// possible. Requests without a time are rate-limited. Requests with a time are not, because a
    /// recording will be cut there. Any thread may call it; it returns at once.
    func requestKeyframe(at programTime: ProgramInstant?)
}

/// Forwards the requests of one client and counts them. Any thread may call it.
package final class CountedKeyframes: KeyframeRequester {
    /// The numbers of requests so far.
    package struct Counts: Sendable, Codable, Equatable {
        /// Requests for a keyframe at a certain time; these are always granted.
        package var timed = 0
        /// Requests for a keyframe as soon as possible.
        package var prompt = 0

        package init() {}
    }

    private let requester: any KeyframeRequester
    private let state = Mutex(Counts())

    /// Forwards requests to `requester`.
    package init(_ requester: any KeyframeRequester) { self.requester = requester }

    /// The numbers of requests so far.
    package var counts: Counts { state.withLock { $0 } }

    package func requestKeyframe(at programTime: ProgramInstant?) {
        state.withLock { counts in
            if programTime == nil { counts.prompt += 1 } else { counts.timed += 1 }
        }
        requester.requestKeyframe(at: programTime)
    }
}
