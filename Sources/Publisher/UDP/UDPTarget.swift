// SPDX-License-Identifier: Apache-2.0

public import FanOut
public import Media
public import Networking

/// A receiver, or a group of receivers, of an MPEG transport stream by UDP.
public struct UDPTarget: OutputTarget {
    private let url: UDPURL
    private let name: String

    /// The receiver at `url` for the output `name`.
    public init(url: UDPURL, name: String) {
        self.url = url
        self.name = name
    }

    public var kind: String { "udp" }
    public var displayAddress: String { url.description }

    public func refusal(of stream: StreamDescription) -> String? { Carriage.transportStream.refusal(of: stream) }

    public func makeAttempt(
        queue: PacketQueue, description: StreamDescription, report: @escaping @Sendable (AttemptEvent) -> Void
    ) -> any OutputAttempt {
        UDPAttempt(url: url, name: name, packets: queue, description: description, report: report)
    }
}
