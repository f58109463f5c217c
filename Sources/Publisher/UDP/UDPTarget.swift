// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import FanOut
package import Media
internal import Networking

/// The target of a UDP output: a receiver, or a multicast group of receivers, of an MPEG transport stream.
package struct UDPTarget: OutputTarget {
    let url: UDPURL
    /// The output's name.
    let name: String

    package var kind: OutputKindName { OutputKind.udp.name }
    package var displayAddress: String { url.description }

    package var carriage: Carriage { .transportStream }

    package func makeAttempt(
        queue: PacketQueue, description: StreamDescription, report: @escaping @Sendable (AttemptEvent) -> Void
    ) -> any OutputAttempt {
        let context = AttemptContext(
            on: DispatchQueue(label: "relay.udp.\(name)", qos: .userInitiated), packets: queue,
            description: description,
            report: report)
        return UDPAttempt(url: url, context: context)
    }
}
