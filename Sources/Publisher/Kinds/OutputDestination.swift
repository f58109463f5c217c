// SPDX-License-Identifier: Apache-2.0

package import FanOut
package import Media
package import Networking
package import RTMP

/// The parsed address of one output, with the options of its ``OutputKind``.
package protocol OutputDestination: Sendable {
    /// The maximum number of file descriptors that the output uses. During the short change from one connection to the
    /// next, the output may use more.
    var descriptors: Int { get }
    /// The port on which the output waits for receivers; nil if the output connects to its receiver.
    var listening: ListeningPort? { get }
    /// The directory to which the output writes; nil for an output to the network.
    var directory: String? { get }
    /// Whether the connection is encrypted, but the peer's certificate is not verified.
    var isUnverified: Bool { get }
    /// Creates the target of the output `name` for this address. If the output listens, this call blocks until the port
    /// is open, and throws if the port cannot be opened.
    func target(name: String, with resources: OutputResources) throws(OutputFailure) -> any OutputTarget
    /// Tests the address as far as possible without publishing anything. For a network address, blocks for at most 20
    /// s; for a directory, blocks for as long as the file system does.
    func check(with resources: OutputCheckResources) -> OutputFinding
}

extension OutputDestination {
    package var descriptors: Int { 3 }
    package var listening: ListeningPort? { nil }
    package var directory: String? { nil }
    package var isUnverified: Bool { false }
}

/// A port of this machine on which an output waits for receivers.
package struct ListeningPort: Sendable {
    /// The transport protocol of a port.
    package enum Transport: Sendable { case tcp, udp }

    /// The numeric IP address on which to listen.
    package let host: String
    /// The port's number.
    package let port: UInt16
    /// The transport protocol of the port.
    package let transport: Transport
    /// The RTMP stream that is offered at this port. RTMP streams with the same address share one port. Nil if only
    /// this output uses the port.
    package var offer: RTMPListenURL?
}

/// The parts of a channel that its outputs need in order to be created.
package struct OutputResources: Sendable {
    /// The writer queues on which all RTMP connections write.
    package let writers: RTMPWriterPool
    /// The server to which RTMP players connect.
    package let server: RTMPServer
    /// The certificate that the RTMP server presents to players that use TLS.
    package let identity: TLSServerIdentity?
    /// Decides which players may play a stream. If nil, every player with the right key may play.
    package let onPlay: RTMPAuthorization?
    /// The packets that the output publishes: those of the program, or of one of its renditions.
    package var stream: PacketStream
    /// The addresses, without secrets, of outputs that are about to end. A new output may use one of these addresses.
    package var leaving: Set<String> = []

    package init(
        writers: RTMPWriterPool, server: RTMPServer, identity: TLSServerIdentity?, onPlay: RTMPAuthorization?,
        stream: PacketStream
    ) {
        (self.writers, self.server, self.identity, self.onPlay) = (writers, server, identity, onPlay)
        self.stream = stream
    }
}

/// What is needed to test an output's address.
package struct OutputCheckResources: Sendable {
    /// The server to which RTMP players connect.
    package let server: RTMPServer
    /// Reads the certificate that the RTMP server presents to players that use TLS. Returns nil if no certificate is
    /// configured.
    package let identity: @Sendable () throws(OutputFailure) -> TLSServerIdentity?

    package init(server: RTMPServer, identity: @escaping @Sendable () throws(OutputFailure) -> TLSServerIdentity?) {
        (self.server, self.identity) = (server, identity)
    }
}

/// The result of testing an output's address.
package struct OutputFinding: Sendable, Equatable {
    /// How usable an address is.
    package enum Result: Sendable {
        case usable
        /// The address does not work now, or cannot be tested now, and may work when the channel goes on air.
        case doubtful
        case unusable
    }

    /// How usable the address is.
    package let result: Result
    /// A sentence for the operator that gives the reason. It contains no secrets.
    package let text: String

    package init(_ result: Result, _ text: String) { (self.result, self.text) = (result, text) }

    /// Runs the test `work`. The finding is usable with the text that `work` returns, or unusable if `work` throws.
    static func of(_ work: () throws(OutputFailure) -> String) -> OutputFinding {
        do throws(OutputFailure) {
            return OutputFinding(.usable, try work())
        } catch {
            return OutputFinding(.unusable, "\(error.step): \(error.reason)")
        }
    }
}
