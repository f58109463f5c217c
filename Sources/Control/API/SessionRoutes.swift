// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore

/// The API of sessions. When a browser requests a video, a download or an event stream, a web page cannot add a token
/// to the request. The browser sends a session cookie instead.
struct SessionRoutes {
    private struct Session: Encodable {
        let role: ControlRole
        let isTokenRequired: Bool
        var expiresSeconds: Int64?
    }

    private static let path = "/v1/session"

    let tokens: TokenGuard
    let settings: ControlSettings

    var endpoints: [Endpoint] {
        [
            Endpoint(.get, Self.path, .none) { request in
                JSON.response(Session(role: request.role, isTokenRequired: tokens.isNeeded))
            },
            Endpoint(.post, Self.path, .none) { request in
                let asked = try await JSON.body(NewSession.self, of: request)
                let client = settings.client(of: request.request.headers, from: request.context.peer)
                let role = try tokens.role(ofToken: asked.token, from: client)
                let seconds = TokenGuard.sessionLength.components.seconds
                let cookie = cookie(tokens.beginSession(role), seconds: Int(seconds))
                return JSON.response(
                    Session(role: role, isTokenRequired: true, expiresSeconds: seconds), headers: [.setCookie: cookie])
            },
            Endpoint(.delete, Self.path, .none) { request in
                if let session = request.request.cookies[settings.cookie] { tokens.endSession(session.value) }
                return Response(status: .noContent, headers: [.setCookie: cookie("", seconds: 0)])
            },
        ]
    }

    private func cookie(_ value: String, seconds: Int) -> String {
        let path = settings.basePath.isEmpty ? "/" : settings.basePath
        let secure = settings.certificate == nil ? "" : "; Secure"
        return "\(settings.cookie)=\(value); Max-Age=\(seconds); Path=\(path); HttpOnly; SameSite=Strict\(secure)"
    }
}
