// SPDX-License-Identifier: Apache-2.0

package import FanOut
package import Media
package import Networking
package import RTMP

/// An address of one ``OutputKind`` that was read, with its options.
package protocol OutputDestination: Sendable {
    /// Descriptors that the output holds at most, except for the moment of a change from one connection to the next.
    var descriptors: Int { get }
    /// The port at which receivers call us; nil for an output that calls.
    var listening: ListeningPort? { get }
    /// Whether the connection is encrypted, but the identity of the other end is not verified.
    var isUnverified: Bool { get }
    /// The target at this address for the output `name`. Blocks until a port that it listens at is open; throws if it
    /// cannot be.
    func target(name: String, with resources: OutputResources) throws(OutputFailure) -> any OutputTarget
    /// Tries the address as far as that is possible without publishing anything. Blocks, 15 s at most.
    func check(with resources: OutputCheckResources) -> OutputFinding
}

extension OutputDestination {
    package var descriptors: Int { 3 }
    package var listening: ListeningPort? { nil }
    package var isUnverified: Bool { false }
}

/// A port of this machine that an output takes.
package struct ListeningPort: Sendable {
    /// What the port is of.
    package enum Transport: Sendable { case tcp, udp }

    /// The address to listen at, numeric.
    package let host: String
    /// The port's number.
    package let port: UInt16
    /// What the port is of.
    package let transport: Transport
    /// What is offered by an RTMP server, which all streams at one address share; nil for a port of the output's own.
    package var offer: RTMPListenURL?
}

/// What the targets of a channel's outputs are made with.
package struct OutputResources: Sendable {
    /// The threads that write RTMP.
    package let writers: RTMPWriterPool
    /// The server that RTMP players connect to.
    package let server: RTMPServer
    /// What it shows to players who connect with TLS.
    package let identity: TLSServerIdentity?
    /// Decides who may play; nil if everybody with the key may.
    package let onPlay: RTMPAuthorization?
    /// The encoding of the program that the output takes.
    package var stream: PacketStream

    /// Resources of these values.
    package init(
        writers: RTMPWriterPool, server: RTMPServer, identity: TLSServerIdentity?, onPlay: RTMPAuthorization?,
        stream: PacketStream
    ) {
        (self.writers, self.server, self.identity, self.onPlay) = (writers, server, identity, onPlay)
        self.stream = stream
    }
}

/// What an address is tried with.
package struct OutputCheckResources: Sendable {
    /// The server that RTMP players connect to.
    package let server: RTMPServer
    /// Reads what it shows to players who connect with TLS; nil without a certificate.
    package let identity: @Sendable () throws(OutputFailure) -> TLSServerIdentity?

    /// Resources of these values.
    package init(server: RTMPServer, identity: @escaping @Sendable () throws(OutputFailure) -> TLSServerIdentity?) {
        (self.server, self.identity) = (server, identity)
    }
}

/// What the check of an address found.
package struct OutputFinding: Sendable, Equatable {
    /// How it is.
    package enum Result: Sendable {
        case usable
        /// It may be usable when the channel goes on air.
        case doubtful
        case unusable
    }

    /// How it is.
    package let result: Result
    /// What was found, without secrets.
    package let text: String

    /// A finding of these values.
    package init(_ result: Result, _ text: String) { (self.result, self.text) = (result, text) }

    /// What `work` finds; what it throws makes the address unusable.
    static func of(_ work: () throws(OutputFailure) -> String) -> OutputFinding {
        do throws(OutputFailure) {
            return OutputFinding(.usable, try work())
        } catch {
            return OutputFinding(.unusable, "\(error.step): \(error.reason)")
        }
    }
}
