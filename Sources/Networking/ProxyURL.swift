// SPDX-License-Identifier: Apache-2.0

/// A proxy for RTMP outputs: `http://[user:password@]host:port` (CONNECT) or `socks5://[user:password@]host:port`. The
/// proxy resolves the target's name.
///
/// The description of this value omits user and password.
package struct ProxyURL: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The proxy's protocol.
    package enum Kind: String, Sendable {
        /// `CONNECT` of HTTP/1.1 (RFC 9110, 9.3.6).
        case http
        /// SOCKS version 5 (RFC 1928).
        case socks5
    }

    /// The proxy's protocol.
    package let kind: Kind
    /// The proxy's name or address; an IPv6 literal without brackets.
    package let host: String
    /// The proxy's port.
    package let port: UInt16
    let user: String?
    let password: String?

    /// Parses the address `text`.
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

    /// The address in masked form, for `dump` and mirrors.
    package var customMirror: Mirror { Mirror(self, children: ["address": description]) }
}
