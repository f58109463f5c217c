// SPDX-License-Identifier: Apache-2.0

package import FanOut
package import Media
internal import Networking
package import RTMP

extension OutputKind {
    /// The output kind RTMP and RTMPS for players that connect to relay.
    package static let rtmpListen = OutputKind(
        "rtmp-listen", secure: "rtmps-listen", beginnings: ["rtmp-listen://", "rtmps-listen://"], title: "RTMP",
        help: "rtmp-listen://[address][:port]/app/name, from which players pull, on the loopback interface unless an "
            + "address is given, such as 0.0.0.0 (?players=, how many, key=, which they add to the name as ?key=; "
            + "rtmps-listen:// with --tls-cert and --tls-key)"
    ) { text, _, _ throws(AddressError) in try RTMPListenURL(text, for: .output) }
}

extension RTMPListenURL: OutputDestination {
    package var descriptors: Int { maximumPlayers * (isSecure ? 3 : 1) + 2 }

    package var listening: ListeningPort? { ListeningPort(host: host, port: port, transport: .tcp, offer: self) }

    package func target(name: String, with resources: OutputResources) throws(OutputFailure) -> any OutputTarget {
        let offer = try RTMPOffer(
            self, server: resources.server, identity: isSecure ? resources.identity : nil,
            authorization: resources.onPlay, leaving: resources.leaving)
        return RTMPListenTarget(offer: offer, name: name, pool: resources.writers, stream: resources.stream)
    }

    /// Tests whether the port can be opened. If it is in use, the process that uses it may be the relay whose
    /// configuration is being checked.
    package func check(with resources: OutputCheckResources) -> OutputFinding {
        do throws(OutputFailure) {
            let identity = isSecure ? try resources.identity() : nil
            try resources.server.offer(self, identity: identity, host: NoPlayer()).cancel()
            return OutputFinding(.usable, "\(self): the port can be opened")
        } catch {
            return OutputFinding(error.kind == .unreachable ? .doubtful : .unusable, error.reason)
        }
    }
}

/// A stand-in for an output, which takes no players. It is used only to test whether the port can be opened.
private final class NoPlayer: RTMPPlayerHost {
    func joined(_ player: RTMPPlayer) {}
}
