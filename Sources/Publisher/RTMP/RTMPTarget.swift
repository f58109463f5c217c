// SPDX-License-Identifier: Apache-2.0

package import FanOut
package import Media
package import RTMP

/// The target of an RTMP output: a stream on an RTMP server.
package struct RTMPTarget: OutputTarget {
    private let url: RTMPURL
    private let name: String
    private let pool: RTMPWriterPool
    private let transport: RTMPTransport
    /// The codecs and the data that can be sent to the server.
    package let carriage: Carriage

    /// Creates the target for the output `name` that publishes at `url`, over `transport`. All outputs of the process
    /// share one `pool` of writers. Enhanced RTMP is used if `isEnhanced` or `transport.isEnhanced` is set.
    package init(
        url: RTMPURL, name: String, pool: RTMPWriterPool, transport: RTMPTransport = RTMPTransport(),
        isEnhanced: Bool = false
    ) {
        self.init(
            url: url, name: name, pool: pool, transport: transport,
            carriage: isEnhanced || transport.isEnhanced ? .enhancedRTMP : .rtmp)
    }

    private init(url: RTMPURL, name: String, pool: RTMPWriterPool, transport: RTMPTransport, carriage: Carriage) {
        self.carriage = carriage
        self.url = url
        self.name = name
        self.pool = pool
        self.transport = transport
    }

    package var kind: OutputKindName { OutputKind.rtmp.name(isSecure: url.isSecure) }
    package var displayAddress: String { url.description }

    package func makeAttempt(
        queue: PacketQueue, description: StreamDescription, report: @escaping @Sendable (AttemptEvent) -> Void
    ) -> any OutputAttempt {
        RTMPAttempt(
            url: url, transport: transport, name: name, writer: pool.next(), packets: queue, description: description,
            carriage: carriage, report: report)
    }

    /// Returns the target for a redirection to `address`, which is a `tcUrl` and may be relative. The stream key, the
    /// credentials and the transport stay the same. Returns nil if `address` cannot be used, or if the redirection
    /// would change from TLS to an unencrypted connection.
    package func redirected(to address: String) -> (any OutputTarget)? {
        url.redirected(to: address).map {
            RTMPTarget(url: $0, name: name, pool: pool, transport: transport, carriage: carriage)
        }
    }
}
