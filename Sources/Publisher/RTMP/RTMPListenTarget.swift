// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import FanOut
package import Media
internal import RTMP

/// The target of an output from which players pull: a stream that relay's RTMP server offers.
package struct RTMPListenTarget: OutputTarget {
    private let offer: RTMPOffer
    private let name: String
    private let pool: RTMPWriterPool
    private let stream: PacketStream

    /// Creates the target for the output `name` from an `offer` whose port is open, or will be opened when the previous
    /// output has left. Players get `stream`, beginning with the current GOP; the queues of `pool` write to them.
    package init(offer: RTMPOffer, name: String, pool: RTMPWriterPool, stream: PacketStream) {
        self.offer = offer
        self.name = name
        self.pool = pool
        self.stream = stream
    }

    package var kind: OutputKindName { OutputKind.rtmpListen.name(isSecure: offer.url.isSecure) }
    package var displayAddress: String { offer.url.description }
    package var awaitsCallers: Bool { true }

    /// The port. Streams at the same address share one listener; a listener at another local address of this port can
    /// be opened when the first one is closed.
    package var place: OutputPlace? {
        let url = offer.url
        let listener = "\(url.host) \(url.isSecure ? "TLS" : "TCP")"
        return OutputPlace("tcp port \(url.port)", sharing: listener, succession: "rtmp")
    }

    package func leave() { offer.close() }

    /// The codecs that the most capable players support. Each connection later checks what its own player supports.
    package var carriage: Carriage { .enhancedRTMP }

    package func makeAttempt(
        queue: PacketQueue, description: StreamDescription, report: @escaping @Sendable (AttemptEvent) -> Void
    ) -> any OutputAttempt {
        let context = AttemptContext(
            on: DispatchQueue(label: "relay.players.\(name)", qos: .userInitiated), packets: queue,
            description: description,
            report: report)
        return RTMPListenAttempt(offer: offer, pool: pool, stream: stream, context: context)
    }
}
