// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Media

/// Decides which client may do what, by the host name in the request, the origin of the page that sends it, and the
/// token or session.
struct RequestGate: Sendable {
    static let cookie = "relay_session"

    let settings: ControlSettings
    let tokens: TokenGuard
    /// Whether requests come through the Unix socket, which can be opened only by users of this host.
    let isLocal: Bool

    /// Returns the role of the client that sends `request` from the address `peer`. Throws if the request is refused.
    func admit(_ request: Request, of peer: String, to endpoint: Endpoint) throws(Refusal) -> ControlRole {
        if isLocal { return .operate }
        try checkHost(request)
        if endpoint.changesSomething { try checkOrigin(request) }
        guard tokens.isNeeded else { return .operate }
        // A public endpoint also answers a client with a wrong token, such as a health check or a proxy with its own
        // token.
        if endpoint.role == .none { return (try? role(of: request, peer)) ?? .none }
        let role = try role(of: request, peer)
        if role == .none {
            throw Refusal(.unauthenticated, "Show a token: Authorization: Bearer …, or begin a session.")
        }
        if role < endpoint.role { throw Refusal(.forbidden, "This token is for looking only.") }
        return role
    }

    private func role(of request: Request, _ peer: String) throws(Refusal) -> ControlRole {
        if let header = request.headers[.authorization] {
            let parts = header.split(separator: " ", maxSplits: 1)
            if parts.count == 2, parts[0].lowercased() == "bearer" {
                return try tokens.role(ofToken: String(parts[1]), from: peer)
            }
        }
        if let session = request.cookies[Self.cookie] { return tokens.role(ofSession: session.value) }
        return .none
    }

    /// Refuses unknown host names. If a foreign name resolved to this host, a web page under that name could read all
    /// responses (DNS rebinding).
    private func checkHost(_ request: Request) throws(Refusal) {
        guard let authority = request.head.authority, let host = Self.host(of: authority) else {
            throw Refusal(.malformed, "The request does not say by which name it was sent.")
        }
        if isKnown(host) { return }
        throw Refusal(.forbidden, "The server does not answer under this name. List it in http.hosts.")
    }

    private func isKnown(_ host: String) -> Bool {
        if ControlSettings.isLoopback(host) || settings.hosts.contains(host) { return true }
        if settings.address?.host == host { return true }
        // A name can be made to resolve to this host; an IP address cannot.
        return !settings.isLoopback && ControlSettings.isAddress(host)
    }

    /// Refuses commands from pages of other origins, because the browser would send its user's cookie with them.
    private func checkOrigin(_ request: Request) throws(Refusal) {
        if let origin = request.headers[.init("Sec-Fetch-Site") ?? .origin],
            ["cross-site", "same-site"].contains(origin)
        {
            throw Refusal(.forbidden, "Pages from elsewhere may change nothing here.")
        }
        guard let origin = request.headers[.origin] else { return }
        let name = origin.firstRange(of: "://").map { String(origin[$0.upperBound...]) } ?? origin
        guard let authority = request.head.authority,
            name == authority || Self.host(of: name).map(settings.hosts.contains) ?? false
        else { throw Refusal(.forbidden, "Pages from elsewhere may change nothing here.") }
    }

    /// Returns the host of `host:port` or `[address]:port`, in lower case.
    static func host(of authority: String) -> String? {
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            return String(authority[authority.index(after: authority.startIndex)..<end]).lowercased()
        }
        let host = authority.prefix { $0 != ":" }
        return host.isEmpty ? nil : host.lowercased()
    }
}
