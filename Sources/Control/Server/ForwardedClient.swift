// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Networking

extension ControlSettings {
    /// Returns the IP address of the client that sent a request with these `headers` over a connection from `peer`.
    ///
    /// If the peer is a trusted proxy, the client is the last address in `X-Forwarded-For` that is not a trusted proxy.
    /// Each proxy appends the address from which it received the request; the client may have invented the entries
    /// before that address.
    func client(of headers: HTTPFields, from peer: String) -> String {
        guard isTrusted(peer), let field = HTTPField.Name("X-Forwarded-For") else { return peer }
        var client = peer
        for entry in headers[values: field].joined(separator: ",").split(separator: ",").reversed() {
            guard let address = Self.address(of: entry) else { break }
            client = address
            guard isTrusted(address) else { break }
        }
        return client
    }

    private func isTrusted(_ text: String) -> Bool {
        guard let address = IPAddress(text) else { return false }
        return trustedProxies.contains { $0.contains(address) }
    }

    /// Returns the IP address in an entry of `X-Forwarded-For`, which may contain a port; nil if the entry contains no
    /// address.
    private static func address(of entry: Substring) -> String? {
        let text = String(entry.filter { $0 != " " && $0 != "\t" })
        if IPAddress(text) != nil { return text }
        let host =
            text.hasPrefix("[") ? String(text.dropFirst().prefix { $0 != "]" }) : String(text.prefix { $0 != ":" })
        return IPAddress(host) == nil ? nil : host
    }
}
