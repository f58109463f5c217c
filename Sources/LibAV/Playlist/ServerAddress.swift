// SPDX-License-Identifier: Apache-2.0

/// The server that a URL names.
package struct ServerAddress: Sendable, Hashable {
    /// The protocol, in lower case. In `cache:http://…` and other nested protocols, it is the innermost one.
    private let scheme: String
    /// The host and port as they are written, in lower case.
    private let place: String

    /// Reads `url`; nil if it contains no `://`.
    package init?(_ url: String) {
        guard let mark = url.firstRange(of: "://") else { return nil }
        let isPart = { (character: Character) in character.isASCII && (character.isLetter || character.isNumber) }
        scheme = String(url[..<mark.lowerBound].reversed().prefix(while: isPart).reversed()).lowercased()
        let authority = url[mark.upperBound...].prefix { !"/?#".contains($0) }
        // A user and password can be in front of the host.
        place = authority.split(separator: "@", omittingEmptySubsequences: false).last.map { $0.lowercased() } ?? ""
    }

    /// Whether headers for this server may be sent to the address `url`, too: it has the same host and port, and the
    /// same protocol, or HTTPS in place of HTTP.
    package func mayGetHeaders(at url: String) -> Bool {
        guard let other = ServerAddress(url), place == other.place else { return false }
        return scheme == other.scheme || (scheme == "http" && other.scheme == "https")
    }
}
