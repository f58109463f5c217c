// SPDX-License-Identifier: Apache-2.0

/// The destination of requests: a server that is reached by TCP, with or without TLS, or through a Unix socket, and the
/// path with which all requests begin.
package struct HTTPEndpoint: Sendable, Equatable {
    /// The way to reach the server.
    enum Place: Sendable, Equatable {
        case tcp(host: String, port: UInt16, isSecure: Bool)
        case socket(path: String)
    }

    let place: Place
    /// Path and query of the address, with the leading slash. May be secret.
    package let path: String
    /// The `Authorization` header for the user and password of the address. Secret.
    let authorization: String?
    /// The server's name for messages: the host, with the port if the address names one, or the path of the socket.
    package let name: String

    /// Parses an `http://` or `https://` address. Errors never contain any part of the address.
    package init(_ address: String) throws(AddressError) {
        let parts = try URLParts(address)
        guard ["http", "https"].contains(parts.scheme) else {
            throw AddressError("The address begins with http:// or https://.")
        }
        guard !parts.host.isEmpty else { throw AddressError("The address names no host.") }
        guard address.allSatisfy(\.isASCII), !address.contains("#") else {
            throw AddressError("The address has characters that are written with % there, such as %C3%BC.")
        }
        let isSecure = parts.scheme == "https"
        let port = parts.port ?? (isSecure ? 443 : 80)
        place = .tcp(host: parts.host, port: port, isSecure: isSecure)
        path = "/" + parts.path + (parts.query.map { "?\($0)" } ?? "")
        authorization = parts.user.map {
            "Basic " + Base64.encode(Array("\($0):\(parts.password ?? "")".utf8))
        }
        name = URLParts.bracketed(parts.host) + (parts.port.map { ":\($0)" } ?? "")
    }

    /// The server that listens on the Unix socket at `path`.
    package init(socket path: String) {
        (place, self.path, authorization, name) = (.socket(path: path), "/", nil, path)
    }

    /// The value of the `Host` header.
    var host: String {
        switch place {
        case .tcp: name
        case .socket: "localhost"
        }
    }

    /// Whether requests are secret to third parties on the network, because they use TLS or do not leave this host.
    package var isPrivate: Bool {
        switch place {
        case .tcp(let host, _, let isSecure): isSecure || host == "localhost" || host == "::1" || host.hasPrefix("127.")
        case .socket: true
        }
    }
}
