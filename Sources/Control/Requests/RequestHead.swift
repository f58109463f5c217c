// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Networking

/// Reads the parts of a request's head, all of which a client may have invented.
enum RequestHead {
    /// Returns the host of `host:port` or `[address]:port`, in lower case; nil if the text has no host.
    static func host(of authority: String) -> String? {
        guard authority.hasPrefix("[") else {
            let host = authority.prefix { $0 != ":" }
            return host.isEmpty ? nil : host.lowercased()
        }
        guard let end = authority.firstIndex(of: "]") else { return nil }
        let (host, rest) = (authority[..<end].dropFirst(), authority[end...].dropFirst())
        guard !host.isEmpty, rest.isEmpty || rest.hasPrefix(":") else { return nil }
        return host.lowercased()
    }

    /// Returns what follows the scheme in the field `Origin`: a host, with a port unless it is the scheme's own.
    static func authority(ofOrigin origin: String) -> String {
        origin.firstRange(of: "://").map { String(origin[$0.upperBound...]) } ?? origin
    }

    /// Returns the token in the field `Authorization`; nil if the field has another form (RFC 6750, 2.1).
    static func bearerToken(_ authorization: String) -> String? {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }

    /// Returns the media type in the field `Content-Type`, in lower case and without parameters.
    static func mediaType(_ field: String) -> String {
        var text = field.prefix { $0 != ";" }.lowercased()
        while text.last == " " { text.removeLast() }
        return text
    }

    /// Whether the field `If-None-Match` names `tag`, an entity tag in quotation marks.
    static func names(_ field: String, _ tag: String) -> Bool {
        field.split(separator: ",").contains { part in
            let part = part.trimmingPrefix { $0 == " " }.prefix { $0 != " " }
            return part == "*" || (part.hasPrefix("W/") ? part.dropFirst(2) : part) == tag
        }
    }

    /// Returns the IP address of the client that sent a request over a connection from `peer`.
    ///
    /// If the peer is one of the trusted `proxies`, the client is the last address in `forwarded`, the entries of the
    /// field `X-Forwarded-For`, that is not a trusted proxy. Each proxy appends the address from which it received the
    /// request; the client may have invented the entries before that address.
    static func client(forwarded: String, from peer: String, proxies: [AddressRange]) -> String {
        let isTrusted = { (text: String) in
            IPAddress(text).map { address in proxies.contains { $0.contains(address) } } ?? false
        }
        guard isTrusted(peer) else { return peer }
        var client = peer
        for entry in forwarded.split(separator: ",").reversed() {
            guard let address = address(of: entry) else { break }
            client = address
            guard isTrusted(address) else { break }
        }
        return client
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

    /// Whether `path` matches `pattern`, a path with its parameters in braces.
    static func matches(_ path: String, _ pattern: String) -> Bool {
        let (words, asked) = (pattern.split(separator: "/"), path.split(separator: "/"))
        return words.count == asked.count && zip(words, asked).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
    }

    /// Decodes a component of a path; nil if it is not percent-encoded UTF-8, or contains a NUL.
    static func pathComponent(_ raw: String) -> String? {
        raw.removingPercentEncoding.flatMap { $0.utf8.contains(0) ? nil : $0 }
    }
}
