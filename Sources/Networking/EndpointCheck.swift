// SPDX-License-Identifier: Apache-2.0

package import Media

/// Checks whether a server can be reached. Each function blocks for at most 20 s, and throws the reason if the server
/// cannot be reached: 5 s for the name, 4 s for the connection, and 5 s each for the proxy and for TLS.
package enum EndpointCheck {
    private static let connectTimeout = Duration.seconds(4)
    private static let openTimeout = Duration.seconds(5)

    /// Resolves `host`, and returns its addresses.
    package static func resolve(_ host: String, port: UInt16) throws(OutputFailure) -> [HostAddress] {
        let answer = Answer<HostResolver.Answer>()
        HostResolver.shared.resolve(host, port: port) { answer.give($0) }
        // The resolver has its own deadline, which expires before this wait ends.
        guard let addresses = answer.wait(openTimeout * 2) else { return [] }
        return try addresses.get()
    }

    /// Connects to `host`, through `proxy` and with TLS if they are given, and closes the connection.
    package static func connect(
        to host: String, port: UInt16, proxy: ProxyURL? = nil, tls: TLSVerification?
    ) throws(OutputFailure) {
        _ = TCPSocket.ignoresBrokenPipes
        let (name, place) = proxy.map { ($0.host, $0.port) } ?? (host, port)
        let addresses = try resolve(name, port: place)
        let socket = try TCPSocket.connect(
            to: addresses, name: proxy?.description ?? "\(host) port \(port)", within: connectTimeout
        ) { _ in true }
        if let proxy { try socket.tunnel(through: proxy, to: host, port: port, within: openTimeout) }
        guard let tls else { return }
        _ = try TLSTunnel.open(over: socket, host: host, trust: tls, within: openTimeout)
    }
}
