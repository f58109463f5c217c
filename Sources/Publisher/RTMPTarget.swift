// SPDX-License-Identifier: Apache-2.0

public import FanOut
public import Media

/// A stream on an RTMP server.
public struct RTMPTarget: OutputTarget {
    private let url: RTMPURL
    private let name: String
    private let pool: RTMPWriterPool

    /// The stream at `url` for the output `name`. All outputs of a process share one `pool`.
    public init(url: RTMPURL, name: String, pool: RTMPWriterPool) {
        self.url = url
        self.name = name
        self.pool = pool
    }

    public var kind: String { "rtmp" }
    public var displayAddress: String { url.description }

    public func makeAttempt(
        queue: PacketQueue, description: StreamDescription, report: @escaping @Sendable (AttemptEvent) -> Void
    ) -> any OutputAttempt {
        RTMPAttempt(
            url: url, name: name, writer: pool.next(), packets: queue, description: description, report: report)
    }
}
