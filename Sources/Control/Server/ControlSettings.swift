// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import Networking

/// The permissions of a client.
package enum ControlRole: String, Sendable, Codable, CaseIterable, Comparable {
    /// The client is unknown.
    case none
    /// The client may read everything.
    case view
    /// The client may do everything.
    case operate

    package static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Where the HTTP server listens, and which clients it serves.
package struct ControlSettings: Sendable, Equatable {
    /// A network address at which the server listens.
    package struct Address: Sendable, Equatable {
        /// An IP address without brackets, or a host name.
        package var host: String
        /// The port; 0 means any free port.
        package var port: Int

        /// The address with this host and port.
        package init(host: String, port: Int) { (self.host, self.port) = (host, port) }

        /// The address as text.
        package var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
    }

    /// A secret that gives a client its role.
    package struct Token: Sendable, Equatable {
        package var role: ControlRole
        /// The secret, which must not be shown.
        package var secret: String

        /// A token that gives the role `role`.
        package init(role: ControlRole, secret: String) { (self.role, self.secret) = (role, secret) }
    }

    /// The network address at which the server listens; nil for none.
    package var address: Address?
    /// The Unix socket for commands on this host; nil for none. A client that can open it may operate.
    package var socket: String?
    /// The tokens. If the list is empty, no token is needed; that is permitted only on loopback.
    package var tokens: [Token] = []
    /// The certificate and key of a TLS listener: PEM files, which are read again when they change.
    package var certificate: (certificate: String, key: String)? {
        get { certificatePath.flatMap { path in keyPath.map { (path, $0) } } }
        set { (certificatePath, keyPath) = (newValue?.certificate, newValue?.key) }
    }
    /// The host names under which a reverse proxy forwards requests, without ports.
    package var hosts: Set<String> = []
    /// The addresses of trusted reverse proxies. The header `X-Forwarded-For` of their requests contains the client's
    /// address.
    package var trustedProxies: [AddressRange] = []
    /// The prefix of each path, such as `/relay`; empty for no prefix.
    package var basePath = ""
    /// The maximum number of connections per listener. When this number is reached, a new connection replaces an idle
    /// one. If none is idle, the server accepts some more connections, and the others wait.
    package var maximumConnections = 256

    /// The receivers of events.
    package var webhooks: [WebhookSettings] = []

    private var certificatePath: String?
    private var keyPath: String?

    /// Settings for a server that does not listen.
    package init() {}

    /// The name of the session cookie. It contains the port, because browsers send a host's cookies to all ports of the
    /// host. With a common name, each of several servers on one host would overwrite the session of the others.
    var cookie: String { address.map { "relay_session_\($0.port)" } ?? "relay_session" }

    /// Whether the network address can be reached from this host only; true if there is no network address.
    package var isLoopback: Bool {
        address.map { Self.isLoopback($0.host) } ?? true
    }

    /// Whether `host`, a name or an address without brackets, means this host. Only `localhost` and valid loopback
    /// addresses do: a name that merely looks like such an address may resolve to any host.
    static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || IPAddress(host)?.isLoopback == true
    }

    /// Whether `host` is an IP address and not a name.
    static func isAddress(_ host: String) -> Bool { IPAddress(host) != nil }
}

extension ControlSettings {
    /// Returns the IP address of the client that sent a request with these `headers` over a connection from `peer`,
    /// which may be a trusted proxy.
    func client(of headers: HTTPFields, from peer: String) -> String {
        guard let field = HTTPField.Name("X-Forwarded-For") else { return peer }
        return RequestHead.client(
            forwarded: headers[values: field].joined(separator: ","), from: peer, proxies: trustedProxies)
    }
}
