// SPDX-License-Identifier: Apache-2.0

package import FanOut
package import Media
internal import RTMP

/// A stream that players pull from relay.
package struct RTMPListenTarget: OutputTarget {
    private let offer: RTMPOffer
    private let name: String
    private let pool: RTMPWriterPool
    private let stream: PacketStream

    /// The stream `offer`, which is already open, for the output `name`. Players get `stream` from the current GOP on;
    /// `pool` writes it.
    package init(offer: RTMPOffer, name: String, pool: RTMPWriterPool, stream: PacketStream) {
        self.offer = offer
        self.name = name
        self.pool = pool
        self.stream = stream
    }

    package var kind: String { offer.url.isSecure ? "rtmps-listen" : "rtmp-listen" }
    package var displayAddress: String { offer.url.description }
    package var awaitsCallers: Bool { true }

    /// What the most capable players can receive. Whether a particular player can receive it is decided for each
    /// connection.
    package var carriage: Carriage { .enhancedRTMP }

    package func makeAttempt(
        queue: PacketQueue, description: StreamDescription, report: @escaping @Sendable (AttemptEvent) -> Void
    ) -> any OutputAttempt {
        RTMPListenAttempt(offer: offer, name: name, pool: pool, packets: queue, stream: stream, report: report)
    }
}
