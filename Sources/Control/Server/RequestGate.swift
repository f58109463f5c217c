// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Media

/// Decides what a client may do. It checks the host name in the request, the origin of the web page that sends it, and
/// the client's token or session.
struct RequestGate: Sendable {
    /// How a client proves who it is.
    private enum Credential {
        case token(String)
        case session(String)
        case nothing
    }

    let settings: ControlSettings
    let tokens: TokenGuard
    /// Whether requests come through the Unix socket, which can be opened only by users of this host.
    let isLocal: Bool

    /// Returns the role of the client that sends `request` over a connection from the address `peer`. Throws if the
    /// request is refused.
    func admit(_ request: Request, of peer: String, to endpoint: Endpoint) throws(Refusal) -> ControlRole {
        if isLocal { return .operate }
        try checkHost(request)
        if endpoint.changesSomething { try checkOrigin(request) }
        guard tokens.isNeeded else { return .operate }
        // A public endpoint also answers clients with a wrong token, because health checks and proxies may send tokens
        // of their own.
        if endpoint.role == .none { return (try? role(of: request, peer)) ?? .none }
        let role = try role(of: request, peer)
        if role == .none {
            throw Refusal(.unauthenticated, "Show a token: Authorization: Bearer …, or begin a session.")
        }
        if role < endpoint.role { throw Refusal(.forbidden, "This token is for looking only.") }
        return role
    }

    /// Whether a client that was admitted to `endpoint` with `request` may still be served. This is false if its
    /// session has ended in the meantime.
    func stillAdmits(_ request: Request, to endpoint: Endpoint) -> Bool {
        guard !isLocal, tokens.isNeeded, case .session(let session) = credential(of: request) else { return true }
        return tokens.role(ofSession: session) >= endpoint.role
    }

    private func role(of request: Request, _ peer: String) throws(Refusal) -> ControlRole {
        switch credential(of: request) {
        case .token(let token):
            return try tokens.role(ofToken: token, from: settings.client(of: request.headers, from: peer))
        case .session(let session): return tokens.role(ofSession: session)
        case .nothing: return .none
        }
    }

    private func credential(of request: Request) -> Credential {
        if let token = request.headers[.authorization].flatMap(RequestHead.bearerToken) { return .token(token) }
        return request.cookies[settings.cookie].map { Credential.session($0.value) } ?? .nothing
    }

    /// Refuses unknown host names. If a foreign name resolved to this host, a web page under that name could read all
    /// responses (DNS rebinding).
    private func checkHost(_ request: Request) throws(Refusal) {
        guard let authority = request.head.authority, let host = RequestHead.host(of: authority) else {
            throw Refusal(.malformed, "The request does not say by which name it was sent.")
        }
        if isKnown(host) { return }
        throw Refusal(.forbidden, "The server does not answer under this name. List it in http.hosts.")
    }

    private func isKnown(_ host: String) -> Bool {
        if ControlSettings.isLoopback(host) || settings.hosts.contains(host) { return true }
        if settings.address?.host == host { return true }
        // If the server can be reached from other hosts, any IP address is accepted. An attacker can make a name
        // resolve to this host, but cannot do that with an IP address.
        return !settings.isLoopback && ControlSettings.isAddress(host)
    }

    /// Refuses commands from web pages of other origins, because the browser would send the user's session cookie with
    /// them.
    private func checkOrigin(_ request: Request) throws(Refusal) {
        if let origin = request.headers[.init("Sec-Fetch-Site") ?? .origin],
            ["cross-site", "same-site"].contains(origin)
        {
            throw Refusal(.forbidden, "Pages from elsewhere may change nothing here.")
        }
        guard let origin = request.headers[.origin] else { return }
        let name = RequestHead.authority(ofOrigin: origin)
        guard let authority = request.head.authority,
            name == authority || RequestHead.host(of: name).map(settings.hosts.contains) ?? false
        else { throw Refusal(.forbidden, "Pages from elsewhere may change nothing here.") }
    }
}
