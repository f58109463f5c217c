// SPDX-License-Identifier: Apache-2.0

package import FanOut
package import Media
package import Networking

extension OutputKind {
    /// The output kind UDP: an MPEG transport stream by UDP, to one host or to a multicast group.
    package static let udp = OutputKind(
        "udp", beginnings: ["udp://"], title: "UDP",
        help: "udp://host-or-group:port (MPEG-TS; ?ttl=, localaddr=, dscp=, pkt_size=)", numbers: [.sendErrors]
    ) { text, _, _ throws(AddressError) in try UDPURL(text) }
}

extension OutputNumber {
    /// The status number of UDP outputs that counts datagrams that the operating system did not accept or reported as
    /// lost.
    static let sendErrors = OutputNumber(
        "send_errors", metric: "relay_output_send_errors_total",
        "UDP: datagrams that the system did not accept, or reported as lost.")
}

extension UDPURL: OutputDestination {
    package func target(name: String, with _: OutputResources) throws(OutputFailure) -> any OutputTarget {
        UDPTarget(url: self, name: name)
    }

    package func check(with _: OutputCheckResources) -> OutputFinding {
        OutputFinding.of { () throws(OutputFailure) in
            _ = try EndpointCheck.resolve(host, port: port)
            return "\(self): the name is known"
        }
    }
}
