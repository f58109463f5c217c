// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import Status
import TestSupport
import Testing

@testable import Control

/// How a client proves who it is.
enum TrialClient: CaseIterable {
    case nothing, wrongToken, wrongSession, viewToken, operateToken, viewSession, operateSession

    var role: ControlRole {
        switch self {
        case .nothing, .wrongToken, .wrongSession: .none
        case .viewToken, .viewSession: .view
        case .operateToken, .operateSession: .operate
        }
    }
}

/// The origin of the web page that sends a request, as the browser states it.
enum TrialOrigin: CaseIterable {
    case none, own, foreign, null, otherSite

    var isForeign: Bool { [.foreign, .null, .otherSite].contains(self) }
}

/// The host name of the server in a request.
enum TrialHost: CaseIterable {
    case own, foreign, missing

    var authority: String? {
        switch self {
        case .own: "localhost:8080"
        case .foreign: "evil.example"
        case .missing: nil
        }
    }
}

/// A server's response, with its body unless the body is endless.
struct TrialAnswer {
    let status: Int
    let headers: HTTPFields
    let body: [UInt8]

    var type: String? { headers[.contentType].map { String($0.prefix { $0 != ";" }) } }

    func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }
}

/// The server's own request handler, on a ``FakeHost`` and without a network.
struct DescribedTrial {
    static let tokens = [
        ControlSettings.Token(role: .view, secret: "looking-only-1"),
        ControlSettings.Token(role: .operate, secret: "everything-22"),
    ]

    let log = CollectedLog()
    let endpoints: [Endpoint]
    private let clock = ManualClock()
    private let guardian: TokenGuard
    private let cookie: String
    private let responder: ControlResponder

    /// Creates the handler of a server with both tokens, or without tokens.
    init(hasTokens: Bool = true) {
        var settings = ControlSettings()
        settings.tokens = hasTokens ? Self.tokens : []
        let server = ControlServer(
            settings, host: FakeHost(), events: EventLog(), version: "test", logger: log.logger)
        endpoints = server.endpoints
        guardian = TokenGuard(settings.tokens, clock: clock)
        cookie = settings.cookie
        responder = ControlResponder(
            server.endpoints, gate: RequestGate(settings: settings, tokens: guardian, isLocal: false),
            logger: log.logger)
    }

    /// Sends a request and returns the response. The endless body of the event stream is not read.
    func ask(
        _ method: HTTPRequest.Method, _ path: String, by client: TrialClient = .operateToken,
        from origin: TrialOrigin = .none, to host: TrialHost = .own, body: String? = nil, type: String? = nil
    ) async throws -> TrialAnswer {
        // Without this pause, there would be too many wrong tokens in a short time.
        clock.advance(by: .seconds(30))
        var headers = HTTPFields()
        headers[.authorization] = authorization(of: client)
        headers[.cookie] = session(of: client).map { "\(cookie)=\($0)" }
        switch origin {
        case .none: break
        case .own: headers[.origin] = "http://localhost:8080"
        case .foreign: headers[.origin] = "http://evil.example"
        case .null: headers[.origin] = "null"
        case .otherSite:
            let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
            headers[site] = "cross-site"
        }
        headers[.contentType] = type
        var request = Request.sample(method, path, headers, authority: host.authority)
        if let body { request.body = RequestBody(buffer: ByteBuffer(string: body)) }
        let response = try await responder.respond(to: request, context: ControlRequest.sample().context)
        let collected = CollectedBody()
        if method == .head || response.headers[.contentType] != "text/event-stream" {
            try await response.body.write(CollectedBody.Writer(body: collected))
        }
        return TrialAnswer(status: response.status.code, headers: response.headers, body: collected.bytes)
    }

    private func authorization(of client: TrialClient) -> String? {
        switch client {
        case .wrongToken: "Bearer wrong-guess-3"
        case .viewToken: "Bearer looking-only-1"
        case .operateToken: "Bearer everything-22"
        case .nothing, .wrongSession, .viewSession, .operateSession: nil
        }
    }

    private func session(of client: TrialClient) -> String? {
        switch client {
        case .wrongSession: "wrong-session-4"
        case .viewSession: guardian.beginSession(.view)
        case .operateSession: guardian.beginSession(.operate)
        case .nothing, .wrongToken, .viewToken, .operateToken: nil
        }
    }
}

extension TrialAnswer {
    private static let secrets = ["looking-only-1", "everything-22", "wrong-guess-3", "wrong-session-4"]

    /// The faults that are faults in any response: a failure of the server, a secret, or a missing security header.
    var faults: [String] {
        var faults: [String] = []
        if status >= 500, status != 503 { faults.append("status \(status)") }
        let text = String(decoding: body, as: UTF8.self)
        for secret in Self.secrets {
            let isInHeaders = headers.contains { $0.value.contains(secret) }
            if isInHeaders || text.contains(secret) { faults.append("shows \(secret)") }
        }
        for (name, value) in [
            ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ] where header(name) != value {
            faults.append("\(name) is \(header(name) ?? "missing")")
        }
        let policy = header("Content-Security-Policy") ?? ""
        if !policy.contains("default-src 'none'") || !policy.contains("frame-ancestors 'none'") {
            faults.append("Content-Security-Policy is \(policy)")
        }
        if header("Cache-Control") == nil { faults.append("Cache-Control is missing") }
        if header("Access-Control-Allow-Origin") != nil { faults.append("other origins may read it") }
        return faults
    }

    /// The faults in the problem details of a response that refuses a request and has a body.
    var problemFaults: [String] {
        guard status >= 400 else { return [] }
        var faults: [String] = []
        if type != "application/problem+json" { faults.append("an error of type \(type ?? "none")") }
        let object = (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:]
        let keys = Set(object.keys).subtracting(["errors"])
        if keys != ["type", "title", "status", "detail"] {
            faults.append("an error with the keys \(object.keys.sorted())")
        }
        if object["status"] as? Int != status || object["type"] as? String != "about:blank" {
            faults.append("an error with another status or type")
        }
        if (object["detail"] as? String ?? "").isEmpty { faults.append("an error without a sentence") }
        if (object["title"] as? String ?? "").isEmpty { faults.append("an error without a title") }
        if status == 401, header("WWW-Authenticate") == nil { faults.append("no WWW-Authenticate") }
        return faults
    }

    /// Returns the parts of this response that the description of `operation` does not contain: the status or the media
    /// type.
    func undescribed(by operation: DescribedAPI.Operation) -> [String] {
        guard let types = operation.responses[status] else { return ["status \(status) is not described"] }
        guard let type, !types.isEmpty, !types.contains(type) else { return [] }
        return ["type \(type) of status \(status) is not described"]
    }
}
