// SPDX-License-Identifier: Apache-2.0

internal import LibAV

/// Follows the redirections of an HTTP address of an input with `header=` options, which can be secret. libavformat
/// itself would send the headers to every server to which it is redirected.
struct HTTPRedirection: Sendable, Equatable {
    private static let statuses: Set = [301, 302, 303, 307, 308]
    private static let mostRedirections = 8

    /// The address before all redirections.
    let first: String
    /// The address to open, after all redirections that were followed.
    private(set) var url: String
    /// Whether the headers may be sent to ``url``: false after a redirection to another server, or after eight
    /// redirections.
    private(set) var keepsHeaders = true
    /// Whether all servers that had to be asked have answered.
    private(set) var isAnswered = false
    private var redirections = 0

    init(_ url: String) { (first, self.url) = (url, url) }

    /// Follows the redirection in a response with the status `status` and the header field `location`. Returns whether
    /// the server at the new address must be asked, too, because it may redirect again. No further server is asked
    /// after a redirection to another server: libavformat then gets no headers, so it may follow all further
    /// redirections itself.
    mutating func follow(status: Int, location: String?) -> Bool {
        isAnswered = true
        guard Self.statuses.contains(status), let location, let next = PlaylistHead.resolve(location, in: url),
            Self.isHTTP(next)
        else { return false }
        redirections += 1
        keepsHeaders = redirections < Self.mostRedirections && ServerAddress(url)?.mayGetHeaders(at: next) == true
        url = next
        isAnswered = !keepsHeaders
        return keepsHeaders
    }

    /// Whether `url` is an HTTP address. A redirection can also name a file of this machine.
    static func isHTTP(_ url: String) -> Bool {
        let lower = url.lowercased()
        return lower.hasPrefix("http://") || lower.hasPrefix("https://")
    }

    /// `url` without user, password and fragment. libavformat sends a password only when the server asks for it, and in
    /// the way that the server asks for.
    static func withoutUser(_ url: String) -> String {
        let plain = url.prefix { $0 != "#" }
        guard let mark = plain.firstRange(of: "://") else { return String(plain) }
        let authority = plain[mark.upperBound...].prefix { $0 != "/" && $0 != "?" }
        guard let at = authority.lastIndex(of: "@") else { return String(plain) }
        return String(plain[..<mark.upperBound] + plain[plain.index(after: at)...])
    }
}
