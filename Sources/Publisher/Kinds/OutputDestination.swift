// SPDX-License-Identifier: Apache-2.0

package import FanOut
package import Media
package import Networking
package import RTMP

/// A parsed address of one ``OutputKind``, with its options.
package protocol OutputDestination: Sendable {
    /// The maximum number of descriptors that the output uses, except for the short time in which it changes from one
    /// connection to the next.
    var descriptors: Int { get }
    /// The port at which receivers connect to relay; nil for an output that connects to its receiver.
    var listening: ListeningPort? { get }
    /// The directory that the output writes to; nil for an output to the network.
    var directory: String? { get }
    /// Whether the connection is encrypted without verifying the identity of the peer.
    var isUnverified: Bool { get }
    /// Makes the target at this address for the output `name`. If the output listens, blocks until its port is open;
    /// throws if the port cannot be opened.
    func target(name: String, with resources: OutputResources) throws(OutputFailure) -> any OutputTarget
    /// Tests the address as far as that is possible without publishing. Blocks for 15 s at most.
    func check(with resources: OutputCheckResources) -> OutputFinding
}

extension OutputDestination {
    package var descriptors: Int { 3 }
    package var listening: ListeningPort? { nil }
    package var directory: String? { nil }
    package var isUnverified: Bool { false }
}

/// A port of this machine that an output uses.
package struct ListeningPort: Sendable {
    /// The protocol of the port.
    package enum Transport: Sendable { case tcp, udp }

    /// The address at which to listen, numeric.
    package let host: String
    /// The port's number.
    package let port: UInt16
    /// The protocol of the port.
    package let transport: Transport
    /// The stream that an RTMP server offers at this port, which all streams at one address share; nil for a port that
    /// only this output uses.
    package var offer: RTMPListenURL?
}

/// The objects from which the targets of a channel's outputs are made.
package struct OutputResources: Sendable {
    /// The threads that write RTMP connections.
    package let writers: RTMPWriterPool
    /// The server to which RTMP players connect.
    package let server: RTMPServer
    /// The certificate that the server presents to players that use TLS.
    package let identity: TLSServerIdentity?
    /// Decides which players may play; nil means that every player with the key may.
    package let onPlay: RTMPAuthorization?
    /// The encoding of the program that the output publishes.
    package var stream: PacketStream
    /// The addresses of outputs that are about to end, without secrets: a new output may take their places.
    package var leaving: Set<String> = []

    package init(
        writers: RTMPWriterPool, server: RTMPServer, identity: TLSServerIdentity?, onPlay: RTMPAuthorization?,
        stream: PacketStream
    ) {
        (self.writers, self.server, self.identity, self.onPlay) = (writers, server, identity, onPlay)
        self.stream = stream
    }
}

/// The objects with which an address is tested.
package struct OutputCheckResources: Sendable {
    /// The server to which RTMP players connect.
    package let server: RTMPServer
    /// Reads the certificate that the server presents to players that use TLS; returns nil if no certificate is
    /// configured.
    package let identity: @Sendable () throws(OutputFailure) -> TLSServerIdentity?

    package init(server: RTMPServer, identity: @escaping @Sendable () throws(OutputFailure) -> TLSServerIdentity?) {
        (self.server, self.identity) = (server, identity)
    }
}

/// The result of the test of an address.
package struct OutputFinding: Sendable, Equatable {
    /// The rating of an address.
    package enum Result: Sendable {
        case usable
        /// The address may be usable when the channel goes on air.
        case doubtful
        case unusable
    }

    /// The rating of the address.
    package let result: Result
    /// The finding as a sentence without secrets.
    package let text: String

    package init(_ result: Result, _ text: String) { (self.result, self.text) = (result, text) }

    /// The finding that results from `work`; if `work` throws, the address is unusable.
    static func of(_ work: () throws(OutputFailure) -> String) -> OutputFinding {
        do throws(OutputFailure) {
            return OutputFinding(.usable, try work())
        } catch {
            return OutputFinding(.unusable, "\(error.step): \(error.reason)")
        }
    }
}
