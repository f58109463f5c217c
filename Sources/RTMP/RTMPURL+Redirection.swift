// SPDX-License-Identifier: Apache-2.0

internal import Networking

extension RTMPURL {
    /// The same stream at the server in `reference`, a `tcUrl` that may be relative to the `tcUrl` of this address
    /// (Enhanced RTMP v2, "Reconnect Request"; RFC 3986, 4.2). `nil` if it is not a `tcUrl`, or if the connection would
    /// no longer use TLS.
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
