// SPDX-License-Identifier: Apache-2.0

/// Where an RTMP output goes: `rtmp://[user:password@]host[:port]/app[/instance…]/key[?query]`.
///
/// It prints itself without its secrets, so that interpolation cannot leak them.
public struct RTMPURL: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The server's name or address; an IPv6 literal without brackets.
    public let host: String
    /// The server's port; 1935 unless the address says otherwise.
    public let port: UInt16
    /// The application with its instance, such as `live`.
    public let app: String
    let key: String
    let query: String?
    let user: String?
    let password: String?

    /// The address in `text`.
    public init(_ text: String) throws(PublisherURLError) {
        let parts = try URLParts(text)
        guard parts.scheme != "rtmps" else { throw PublisherURLError("RTMPS is not supported yet.") }
        guard parts.scheme == "rtmp" else {
            throw PublisherURLError("The address must begin with rtmp://.")
        }
        guard !parts.host.isEmpty else { throw PublisherURLError("The address has no host.") }
        let components = parts.path.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = components.first, !first.isEmpty else {
            throw PublisherURLError("The address has no app; write rtmp://host/app/key.")
        }
        guard components.count > 1, let last = components.last, !last.isEmpty else {
            throw PublisherURLError("The address has no stream key; write rtmp://host/app/key.")
        }
        host = parts.host
        port = parts.port ?? 1935
        app = components.dropLast().joined(separator: "/")
        key = String(last)
        query = parts.query
        user = parts.user
        password = parts.password
    }

    /// The address without user, password and query, and of the key at most its first two characters.
    public var description: String {
        "rtmp://\(authority)/\(app)/\(URLParts.masked(key))"
    }

    public var debugDescription: String { description }

    /// What `dump` and mirrors see: the masked form only.
    public var customMirror: Mirror { Mirror(self, children: ["address": description]) }

    private var authority: String {
        port == 1935 ? URLParts.bracketed(host) : "\(URLParts.bracketed(host)):\(port)"
    }

    /// What `connect` names as `tcUrl` (Adobe RTMP 1.0, 7.2.1.1).
    var connectURL: String { "rtmp://\(authority)/\(app)" }

    /// What `publish` names: the key, and the query, which is where servers take tokens from.
    var playPath: String { query.map { "\(key)?\($0)" } ?? key }

    /// `text`, in which every secret of this address is replaced.
    func masking(_ text: String) -> String {
        var masked = text
        let tokens = (query ?? "").split(separator: "&").flatMap { pair in
            let value = pair.drop { $0 != "=" }.dropFirst()
            return value.count < 4 ? [] : [String(value), URLParts.decode(value)]
        }
        let secrets = [playPath, query, key, password, user].compactMap { $0 } + tokens
        for secret in secrets.sorted(by: { $0.count > $1.count }) where !secret.isEmpty {
            masked = masked.replacing(secret, with: "***")
        }
        return masked
    }
}
