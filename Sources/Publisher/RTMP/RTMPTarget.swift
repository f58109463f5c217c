// SPDX-License-Identifier: Apache-2.0

package import FanOut
package import Media
package import RTMP

/// A stream on an RTMP server.
package struct RTMPTarget: OutputTarget {
    private let url: RTMPURL
    private let name: String
    private let pool: RTMPWriterPool
    private let transport: RTMPTransport
    /// The codecs and data that the server supports.
    package let carriage: Carriage

    /// The stream at `url` for the output `name`, reached by `transport`. All outputs of a process share one `pool`.
    /// The server supports Enhanced RTMP if `isEnhanced` or `transport.isEnhanced` is set.
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

    package var kind: String { url.isSecure ? "rtmps" : "rtmp" }
    package var displayAddress: String { url.description }

    package func makeAttempt(
        queue: PacketQueue, description: StreamDescription, report: @escaping @Sendable (AttemptEvent) -> Void
    ) -> any OutputAttempt {
        RTMPAttempt(
            url: url, transport: transport, name: name, writer: pool.next(), packets: queue, description: description,
            carriage: carriage, report: report)
    }

    /// Returns the same stream, with the same credentials and transport, at the `tcUrl` in `address`, which may be
    /// relative. Never changes from TLS to an unencrypted connection.
    package func redirected(to address: String) -> (any OutputTarget)? {
        url.redirected(to: address).map {
            RTMPTarget(url: $0, name: name, pool: pool, transport: transport, carriage: carriage)
        }
    }
}
