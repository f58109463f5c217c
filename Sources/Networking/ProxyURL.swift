// SPDX-License-Identifier: Apache-2.0

/// A proxy that RTMP outputs go through: `http://[user:password@]host:port` (CONNECT) or
/// `socks5://[user:password@]host:port`. The target's name is resolved by the proxy.
///
/// It prints itself without its secrets.
package struct ProxyURL: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// How the proxy is asked.
    package enum Kind: String, Sendable {
        /// `CONNECT` of HTTP/1.1 (RFC 9110, 9.3.6).
        case http
        /// SOCKS version 5 (RFC 1928).
        case socks5
    }

    /// How the proxy is asked.
    package let kind: Kind
    /// The proxy's name or address; an IPv6 literal without brackets.
    package let host: String
    /// The proxy's port.
    package let port: UInt16
    let user: String?
    let password: String?

    /// The proxy in `text`.
    package init(_ text: String) throws(AddressError) {
        let parts = try URLParts(text)
        guard let kind = Kind(rawValue: parts.scheme) else {
            throw AddressError("A proxy's address must begin with http:// or socks5://.")
        }
        guard !parts.host.isEmpty else { throw AddressError("The proxy's address has no host.") }
        guard let port = parts.port else { throw AddressError("The proxy's address has no port.") }
        guard parts.path.isEmpty, parts.query == nil else {
            throw AddressError("The proxy's address has something behind the port.")
        }
        guard (parts.user ?? "").utf8.count < 256, (parts.password ?? "").utf8.count < 256 else {
            throw AddressError("The proxy's user or password is longer than 255 bytes.")
        }
        guard parts.user?.contains(":") != true || kind == .socks5 else {
            throw AddressError("The proxy's user contains a colon, which HTTP does not allow.")
        }
        self.kind = kind
        self.port = port
        host = parts.host
        user = parts.user
        password = parts.password
    }

    /// The address without user and password.
    package var description: String { "\(kind.rawValue)://\(URLParts.bracketed(host)):\(port)" }

    package var debugDescription: String { description }

    /// What `dump` and mirrors see: the masked form only.
    package var customMirror: Mirror { Mirror(self, children: ["address": description]) }
}
