// SPDX-License-Identifier: Apache-2.0

package import FanOut
package import Media
internal import Networking
package import SRT

extension OutputKind {
    /// The output kind SRT: an MPEG transport stream over SRT.
    package static let srt = OutputKind(
        "srt", beginnings: ["srt://"], title: "SRT",
        help: "srt://host:port?mode=caller&latency=200&passphrase=…&streamid=…, times in milliseconds; "
            + "with mode=listener receivers call us, with mode=rendezvous both call."
    ) { text, _, _ throws(AddressError) in try SRTURL(text) }
}

extension SRTURL: OutputDestination {
    package var listening: ListeningPort? {
        mode == .listener ? ListeningPort(host: host, port: port, transport: .udp) : nil
    }

    package func target(name: String, with _: OutputResources) throws(OutputFailure) -> any OutputTarget {
        SRTTarget(url: self, name: name)
    }

    package func check(with _: OutputCheckResources) -> OutputFinding {
        OutputFinding.of { () throws(OutputFailure) in
            _ = try EndpointCheck.resolve(host, port: port)
            return "\(self): the name is known; SRT servers answer only to a stream"
        }
    }
}
