// SPDX-License-Identifier: Apache-2.0

package import Networking

/// The address of an RTMP output: `rtmp://[user:password@]host[:port]/app[/instance…]/key[?query]`, or the same with
/// `rtmps://`, which is RTMP over TLS. MediaMTX and others accept `rtmp://host/stream`: then the stream's name is the
/// application, and there is no key.
///
/// The description contains no secrets, so that an interpolated address cannot leak them.
package struct RTMPURL: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Whether the connection uses TLS.
    package let isSecure: Bool
    /// The server's name or address; an IPv6 literal without brackets.
    package let host: String
    /// The server's port; by default 1935, or 443 with TLS.
    package let port: UInt16
    /// The application with its instance, such as `live`. In an address without a key, this is the stream's name.
    package let app: String
    let key: String
    let query: String?
    let user: String?
    let password: String?

    /// Parses the address `text`.
    package init(_ text: String) throws(AddressError) {
        let parts = try URLParts(text)
        guard ["rtmp", "rtmps"].contains(parts.scheme) else {
            throw AddressError("The address must begin with rtmp:// or rtmps://.")
        }
        guard !parts.host.isEmpty else { throw AddressError("The address has no host.") }
        let components = parts.path.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = components.first, !first.isEmpty else {
            throw AddressError("The address has no app; write rtmp://host/app/key.")
        }
        guard components.last != "" else {
            throw AddressError("The address has no stream key; write rtmp://host/app/key.")
        }
        host = parts.host
        isSecure = parts.scheme == "rtmps"
        port = parts.port ?? (isSecure ? 443 : 1935)
        let isKeyless = components.count == 1
        app = isKeyless ? String(first) : components.dropLast().joined(separator: "/")
        key = isKeyless ? "" : String(components[components.count - 1])
        query = parts.query
        user = parts.user
        password = parts.password
    }

    /// Creates the address of the same stream as `other`, at another server.
    init(isSecure: Bool, host: String, port: UInt16?, app: String, streamOf other: RTMPURL) {
        self.isSecure = isSecure
        self.host = host
        self.port = port ?? (isSecure ? 443 : 1935)
        self.app = app
        key = other.key
        query = other.query
        user = other.user
        password = other.password
    }

    /// The address without user, password and query, and with at most two characters of the key, or of the stream's
    /// name in an address without a key.
    package var description: String {
        let app = app.prefix { $0 != "?" }
        let name = key.isEmpty ? URLParts.masked(String(app)) : "\(app)/\(URLParts.masked(key))"
        return "\(isSecure ? "rtmps" : "rtmp")://\(authority)/\(name)"
    }

    package var debugDescription: String { description }

    /// The address in masked form, for `dump` and mirrors.
    package var customMirror: Mirror { Mirror(self, children: ["address": description]) }

    private var authority: String {
        let isUsual = port == (isSecure ? 443 : 1935)
        return isUsual ? URLParts.bracketed(host) : "\(URLParts.bracketed(host)):\(port)"
    }

    /// The `tcUrl` of `connect` (Adobe RTMP 1.0, 7.2.1.1).
    var connectURL: String { "\(isSecure ? "rtmps" : "rtmp")://\(authority)/\(connectApp)" }

    /// The application in `connect`. In an address without a key, the query is part of the application, as FFmpeg sends
    /// it.
    var connectApp: String {
        guard key.isEmpty, let query else { return app }
        return app.contains("?") ? "\(app)&\(query)" : "\(app)?\(query)"
    }

    /// The stream name in `publish`: the key and the query, from which servers read tokens; empty in an address without
    /// a key.
    package var playPath: String { key.isEmpty ? "" : query.map { "\(key)?\($0)" } ?? key }

    /// Replaces every secret of this address in `text` by `***`. A query value of fewer than four characters is
    /// replaced only as a part of the whole query.
    package func masking(_ text: String) -> String {
        var masked = text
        for secret in secrets { masked = masked.replacing(secret, with: "***") }
        return masked
    }

    /// The length of the longest secret, in characters; 0 if the address has no secret.
    var longestSecret: Int { secrets.first?.count ?? 0 }

    /// The texts that must not be shown, with the longest first.
    private var secrets: [String] {
        let tokens = (query ?? "").split(separator: "&").flatMap { pair in
            let value = pair.drop { $0 != "=" }.dropFirst()
            return value.count < 4 ? [] : [String(value), URLParts.decode(value)]
        }
        let all = [playPath, query, key.isEmpty ? app : key, password, user].compactMap { $0 } + tokens
        return all.filter { !$0.isEmpty }.sorted { $0.count > $1.count }
    }
}

extension RTMPURL {
    /// The same stream at the server in `reference`, a `tcUrl` that can be relative to the `tcUrl` of this address
    /// (Enhanced RTMP v2, "Reconnect Request"; RFC 3986, 4.2). `nil` if `reference` is not a `tcUrl` or names a user,
    /// or if the connection uses TLS now and would not use it at that server.
    package func redirected(to reference: String) -> RTMPURL? {
        if reference.isEmpty { return nil }
        let scheme = isSecure ? "rtmps" : "rtmp"
        let base = connectURL.prefix { $0 != "?" }
        let absolute: String
        if reference.contains("://") {
            absolute = reference
        } else if reference.hasPrefix("//") {
            absolute = "\(scheme):\(reference)"
        } else if reference.hasPrefix("/") {
            let root = base.dropLast(app.prefix { $0 != "?" }.count + 1)
            absolute = "\(root)\(reference)"
        } else {
            let parent = base.lastIndex(of: "/").map { base[...$0] } ?? base
            absolute = "\(parent)\(reference)"
        }
        guard let parts = try? URLParts(absolute), !parts.host.isEmpty, parts.user == nil else { return nil }
        guard parts.scheme == "rtmps" || (parts.scheme == "rtmp" && !isSecure) else { return nil }
        let path = String(parts.path.reversed().drop { $0 == "/" }.reversed())
        guard !path.isEmpty else { return nil }
        return RTMPURL(
            isSecure: parts.scheme == "rtmps", host: parts.host, port: parts.port,
            app: parts.query.map { "\(path)?\($0)" } ?? path, streamOf: self)
    }
}
