// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// What may be done with a token.
package enum ControlRole: String, Sendable, Codable, CaseIterable, Comparable {
    /// Nothing is known of who asks.
    case none
    /// Everything may be seen.
    case view
    /// Everything may be done.
    case operate

    package static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// How the HTTP server listens, and whom it answers.
package struct ControlSettings: Sendable, Equatable {
    /// A place to listen at.
    package struct Address: Sendable, Equatable {
        /// An IP address without brackets, or a host name.
        package var host: String
        /// 0 for any that is free.
        package var port: Int

        /// `port` of `host`.
        package init(host: String, port: Int) { (self.host, self.port) = (host, port) }

        /// As it is written.
        package var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
    }

    /// A word that who asks must know.
    package struct Token: Sendable, Equatable {
        package var role: ControlRole
        /// Not to be shown.
        package var secret: String

        /// A token of `role`.
        package init(role: ControlRole, secret: String) { (self.role, self.secret) = (role, secret) }
    }

    /// Where it listens for all clients that the network lets through; nil for nowhere.
    package var address: Address?
    /// The Unix socket for commands on the host; nil for none. A client that may open it may operate.
    package var socket: String?
    /// The tokens. If the list is empty no token is needed, which is for loopback only.
    package var tokens: [Token] = []
    /// What a listener with TLS shows: files in PEM, read again when they change.
    package var certificate: (certificate: String, key: String)? {
        get { certificatePath.flatMap { path in keyPath.map { (path, $0) } } }
        set { (certificatePath, keyPath) = (newValue?.certificate, newValue?.key) }
    }
    /// The names under which a reverse proxy passes requests on, without ports.
    package var hosts: Set<String> = []
    /// The prefix of each path, such as `/relay`; empty for no prefix.
    package var basePath = ""
    /// Connections of each listener at a time; more wait to be accepted.
    package var maximumConnections = 256

    /// Who is told of events.
    package var webhooks: [WebhookSettings] = []

    private var certificatePath: String?
    private var keyPath: String?

    /// Settings of a server that listens nowhere.
    package init() {}

    /// Whether only the host itself can reach the address.
    package var isLoopback: Bool {
        address.map { Self.isLoopback($0.host) } ?? true
    }

    /// Whether `host`, a name or an address without brackets, is the host itself. Names that only look like its addresses
    /// may lead anywhere.
    static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" { return true }
        guard let bytes = addressBytes(host) else { return false }
        return bytes.count == 4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
    }

    /// Whether `host` is an IP address, and no name.
    static func isAddress(_ host: String) -> Bool { addressBytes(host) != nil }

    /// The bytes of an IP address; nil for a name.
    private static func addressBytes(_ host: String) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, host, &bytes) == 1 { return bytes }
        }
        return nil
    }
}
