// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird
import HummingbirdCore
import Media
import Networking
import TestSupport
import Testing

@testable import Control

@Suite("Admission of requests to the HTTP server")
struct AdmissionTests {
    private static let tokens = [
        ControlSettings.Token(role: .view, secret: "looking-only-1"),
        ControlSettings.Token(role: .operate, secret: "everything-22"),
    ]

    private let look = Endpoint(.get, "/v1/look", .view) { _ in Response(status: .ok) }
    private let act = Endpoint(.post, "/v1/act", .operate) { _ in Response(status: .ok) }
    private let anyone = Endpoint(.get, "/v1/open", .none) { _ in Response(status: .ok) }

    private func makeGate(
        _ tokens: [ControlSettings.Token] = [], isLocal: Bool = false,
        _ change: (inout ControlSettings) -> Void = { _ in }
    ) -> RequestGate {
        var settings = ControlSettings()
        change(&settings)
        return RequestGate(settings: settings, tokens: TokenGuard(tokens), isLocal: isLocal)
    }

    /// The kind of the refusal; nil if the request is admitted.
    private func refusal(
        _ gate: RequestGate, _ endpoint: Endpoint, _ headers: HTTPFields = [:], authority: String? = "localhost:8080"
    ) -> Refusal.Kind? {
        let request = Request.sample(endpoint.method, endpoint.path, headers, authority: authority)
        do {
            _ = try gate.admit(request, of: "192.0.2.1", to: endpoint)
            return nil
        } catch {
            return error.kind
        }
    }

    private func role(_ gate: RequestGate, _ endpoint: Endpoint, _ headers: HTTPFields) throws -> ControlRole {
        try gate.admit(.sample(endpoint.method, endpoint.path, headers), of: "192.0.2.1", to: endpoint)
    }

    @Test("Without tokens each request to one of the server's own host names is admitted, and any other is refused")
    func withoutTokens() {
        for authority in ["localhost", "localhost:8080", "127.0.0.1:80", "[::1]:80", "LOCALHOST", "127.1.2.3"] {
            #expect(refusal(makeGate(), act, authority: authority) == nil, "\(authority)")
        }
        for authority in ["evil.example", "localhost.evil.example", "10.0.0.1", "[fe80::1]", "127.0.0.1.evil.example"] {
            #expect(refusal(makeGate(), look, authority: authority) == .forbidden, "\(authority)")
        }
        for authority in [nil, "", ":80", "[::1"] {
            #expect(refusal(makeGate(), look, authority: authority) == .malformed, "\(authority ?? "none")")
        }
    }

    @Test("A request is accepted for a configured host name, and for any IP address if the server listens on 0.0.0.0")
    func names() {
        let listed = makeGate { settings in settings.hosts = ["relay.example"] }
        #expect(refusal(listed, look, authority: "relay.example:443") == nil)
        #expect(refusal(listed, look, authority: "Relay.Example") == nil)
        #expect(refusal(listed, look, authority: "other.example") == .forbidden)
        let wide = makeGate { settings in settings.address = ControlSettings.Address(host: "0.0.0.0", port: 8080) }
        #expect(refusal(wide, look, authority: "10.0.0.1:8080") == nil)
        #expect(refusal(wide, look, authority: "[2001:db8::1]:8080") == nil)
        #expect(refusal(wide, look, authority: "evil.example") == .forbidden)
        let named = makeGate { settings in settings.address = ControlSettings.Address(host: "box.example", port: 8080) }
        #expect(refusal(named, look, authority: "box.example:8080") == nil)
    }

    @Test("A cross-origin request that would change something is refused; one that only reads is admitted")
    func origins() throws {
        let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
        for headers in [
            [.origin: "http://evil.example"], [.origin: "null"], [.origin: ""], [site: "cross-site"],
            [site: "same-site"],
            [.origin: "http://localhost:8081"], [.origin: "http://localhost:8080.evil.example"],
        ] as [HTTPFields] {
            #expect(refusal(makeGate(), act, headers) == .forbidden, "\(headers)")
            #expect(refusal(makeGate(), look, headers) == nil, "\(headers)")
        }
        for headers in [
            [:], [.origin: "http://localhost:8080"], [.origin: "https://localhost:8080"], [site: "same-origin"],
            [site: "none"],
        ] as [HTTPFields] {
            #expect(refusal(makeGate(), act, headers) == nil, "\(headers)")
        }
        let listed = makeGate { settings in settings.hosts = ["relay.example"] }
        #expect(refusal(listed, act, [.origin: "https://relay.example"], authority: "localhost") == nil)
    }

    @Test("A token admits requests to the endpoints of its role, and to no others")
    func roles() throws {
        let gate = makeGate(Self.tokens)
        let (view, operate): (HTTPFields, HTTPFields) = (
            [.authorization: "Bearer looking-only-1"], [.authorization: "bearer everything-22"]
        )
        #expect(try role(gate, look, view) == .view)
        #expect(try role(gate, look, operate) == .operate)
        #expect(try role(gate, act, operate) == .operate)
        #expect(refusal(gate, act, view) == .forbidden)
        for headers in [
            [:], [.authorization: "Bearer"], [.authorization: "Basic everything-22"], [.authorization: "everything-22"],
            [.authorization: ""], [.cookie: "relay_session=nothing"], [.cookie: "relay_session"],
        ] as [HTTPFields] {
            #expect(refusal(gate, look, headers) == .unauthenticated, "\(headers)")
            #expect(try role(gate, anyone, headers) == .none)
        }
        #expect(refusal(gate, look, [.authorization: "Bearer wrong"]) == .unauthenticated)
        #expect(try role(gate, anyone, [.authorization: "Bearer wrong"]) == .none)
        #expect(try role(gate, anyone, view) == .view)
    }

    @Test("A session admits requests for the role of its token until the session ends")
    func sessions() throws {
        let tokens = TokenGuard(Self.tokens)
        let gate = RequestGate(settings: ControlSettings(), tokens: tokens, isLocal: false)
        let name = tokens.beginSession(.operate)
        let headers: HTTPFields = [.cookie: "other=1; relay_session=\(name)"]
        #expect(try role(gate, act, headers) == .operate)
        tokens.endSession(name)
        #expect(refusal(gate, act, headers) == .unauthenticated)
    }

    @Test("A long response ends when its client's session ends or expires; if the client has a token, it continues")
    func streams() throws {
        let clock = ManualClock()
        let tokens = TokenGuard(Self.tokens, clock: clock)
        let gate = RequestGate(settings: ControlSettings(), tokens: tokens, isLocal: false)
        let cookies = [tokens.beginSession(.view), tokens.beginSession(.view)].map { "relay_session=\($0)" }
        let requests = cookies.map { Request.sample(.get, "/v1/look", [.cookie: $0]) }
        let byToken = Request.sample(
            .get, "/v1/look", [.cookie: cookies[0], .authorization: "Bearer looking-only-1"])
        #expect(requests.allSatisfy { gate.stillAdmits($0, to: look) })
        tokens.endSession(String(cookies[0].dropFirst("relay_session=".count)))
        #expect(!gate.stillAdmits(requests[0], to: look) && gate.stillAdmits(requests[1], to: look))
        clock.advance(by: TokenGuard.sessionLength)
        #expect(!gate.stillAdmits(requests[1], to: look) && gate.stillAdmits(byToken, to: look))
        #expect(gate.stillAdmits(requests[0], to: anyone))
        let open = RequestGate(settings: ControlSettings(), tokens: TokenGuard([]), isLocal: false)
        let local = RequestGate(settings: ControlSettings(), tokens: tokens, isLocal: true)
        for gate in [open, local] { #expect(gate.stillAdmits(requests[0], to: look)) }
    }

    @Test("Servers at two ports of one host have session cookies of different names")
    func cookies() throws {
        let names = [8080, 8081].map { port in
            var settings = ControlSettings()
            settings.address = ControlSettings.Address(host: "127.0.0.1", port: port)
            return settings.cookie
        }
        #expect(names == ["relay_session_8080", "relay_session_8081"])
        let tokens = TokenGuard(Self.tokens)
        var settings = ControlSettings()
        settings.address = ControlSettings.Address(host: "127.0.0.1", port: 8080)
        let gate = RequestGate(settings: settings, tokens: tokens, isLocal: false)
        let name = tokens.beginSession(.view)
        #expect(try role(gate, look, [.cookie: "relay_session_8081=other; relay_session_8080=\(name)"]) == .view)
        #expect(refusal(gate, look, [.cookie: "relay_session_8081=\(name)"]) == .unauthenticated)
    }

    @Test("A request over the local control socket is admitted without a host name, token or origin")
    func local() throws {
        let gate = makeGate(Self.tokens, isLocal: true)
        let request = Request.sample(.post, "/v1/act", [.origin: "http://evil.example"], authority: nil)
        #expect(try gate.admit(request, of: "", to: act) == .operate)
    }

    @Test("A valid token is accepted however many wrong tokens came, from any number of addresses and networks")
    func crowd() throws {
        let tokens = TokenGuard(Self.tokens)
        for index in 0..<1010 {
            let network = String(index, radix: 16)
            for peer in ["2001:db8:0:\(network)::1", "2001:db8:ffff:ffff::\(network)"] {
                #expect(throws: Refusal.self) { try tokens.role(ofToken: "guess", from: peer) }
            }
        }
        for peer in ["2001:db8:0:5::1", "2001:db8:ffff:ffff::5", "2001:db8:1::1", "192.0.2.1", ""] {
            #expect(try tokens.role(ofToken: "everything-22", from: peer) == .operate)
        }
        #expect(tokens.failures == 2020)
    }

    @Test("Behind a trusted proxy, the client is the last forwarded address that is not a trusted proxy itself")
    func forwarded() throws {
        var settings = ControlSettings()
        settings.trustedProxies = ["10.0.0.0/8", "::1"].compactMap { AddressRange($0) }
        let field = try #require(HTTPField.Name("X-Forwarded-For"))
        for (peer, forwarded, client) in [
            ("10.0.0.1", "192.0.2.7", "192.0.2.7"), ("::1", "192.0.2.7", "192.0.2.7"),
            ("10.0.0.1", "203.0.113.1, 192.0.2.7", "192.0.2.7"), ("10.0.0.1", "192.0.2.7, 10.2.2.2", "192.0.2.7"),
            ("10.0.0.1", "192.0.2.7:4711", "192.0.2.7"), ("10.0.0.1", "[2001:db8::1]:4711", "2001:db8::1"),
            ("10.0.0.1", "2001:db8::1", "2001:db8::1"), ("10.0.0.1", "192.0.2.7, unknown", "10.0.0.1"),
            ("10.0.0.1", "10.2.2.2", "10.2.2.2"), ("10.0.0.1", "", "10.0.0.1"),
            ("192.0.2.1", "192.0.2.7", "192.0.2.1"), ("", "192.0.2.7", ""),
        ] {
            #expect(settings.client(of: [field: forwarded], from: peer) == client, "\(peer) \(forwarded)")
        }
        #expect(settings.client(of: [:], from: "10.0.0.1") == "10.0.0.1")
        var twice = HTTPFields()
        for value in ["203.0.113.1", "192.0.2.7"] { twice.append(HTTPField(name: field, value: value)) }
        #expect(settings.client(of: twice, from: "10.0.0.1") == "192.0.2.7")
    }

    @Test("Behind a trusted proxy, wrong tokens are counted for the client that the proxy names, not for the proxy")
    func forwardedGuesses() throws {
        let gate = makeGate(Self.tokens) { settings in
            settings.trustedProxies = ["192.0.2.1"].compactMap { AddressRange($0) }
        }
        let field = try #require(HTTPField.Name("X-Forwarded-For"))
        let wrong = { (client: String) in
            self.refusal(gate, self.look, [.authorization: "Bearer wrong", field: client])
        }
        for _ in 0..<10 { #expect(wrong("203.0.113.1") == .unauthenticated) }
        #expect(wrong("203.0.113.1") == .tooMany)
        #expect(wrong("203.0.113.2") == .unauthenticated)
        #expect(refusal(gate, look, [.authorization: "Bearer wrong"]) == .unauthenticated)
    }

    @Test("A wrong token counts once for each request, whatever is known about the length of the request's body")
    func guessesWithBodies() async throws {
        let load = Endpoint(.put, "/v1/load", .operate, mostBytes: 1 << 20) { _ in Response(status: .ok) }
        let tokens = TokenGuard(Self.tokens)
        let gate = RequestGate(settings: ControlSettings(), tokens: tokens, isLocal: false)
        let responder = ControlResponder([load], gate: gate, logger: quiet)
        let lengths = [nil, "5", "100000", "10000000"]
        for (token, statuses, failures) in [
            ("everything-22", [200, 200, 200, 413], 0), ("looking-only-1", [403, 403, 403, 403], 0),
            ("wrong", [401, 401, 401, 401], 4),
        ] {
            for (length, status) in zip(lengths, statuses) {
                var headers: HTTPFields = [.authorization: "Bearer \(token)"]
                headers[.contentLength] = length
                let response = try await responder.respond(
                    to: .sample(.put, "/v1/load", headers), context: ControlRequest.sample().context)
                #expect(response.status.code == status, "\(token) \(length ?? "of unknown length")")
            }
            #expect(tokens.failures == failures)
        }
    }

    @Test("Two tokens are equal only if all of their bytes are equal, not if just their Unicode characters are")
    func equality() {
        var random = SeededRandom()
        for _ in 0..<2000 {
            let one = random.text(of: ["a", "b", "é", "e\u{301}", "\u{0}"], upTo: 4)
            let two = random.text(of: ["a", "b", "é", "e\u{301}", "\u{0}"], upTo: 4)
            #expect(TokenGuard.isEqual(one, two) == (Array(one.utf8) == Array(two.utf8) && !one.isEmpty))
        }
    }

    @Test("An endpoint matches a request's path if all components match")
    func paths() {
        let endpoint = Endpoint(.get, "/v1/channels/{channel}/clips", .view) { _ in Response(status: .ok) }
        #expect(endpoint.isAt("/v1/channels/main/clips") && endpoint.isAt("/v1/channels/a%2Fb/clips"))
        for path in [
            "", "/", "/v1/channels/clips", "/v1/channels/main/clips/x", "/v1/channels/main/Clips",
            "/v2/channels/main/clips",
        ] {
            #expect(!endpoint.isAt(path), "\(path)")
        }
        #expect(!look.changesSomething && act.changesSomething)
    }

    @Test("A malformed or out-of-range number in a request's query is refused")
    func numbers() throws {
        #expect(try ControlRequest.sample(.get, "/f?limit=5").integer("limit", in: 1...10) == 5)
        #expect(try ControlRequest.sample(.get, "/f").integer("limit", in: 1...10) == nil)
        for text in ["0", "11", "x", "", "5.0", "99999999999999999999", "-1", "1e1", " 5"] {
            let request = ControlRequest.sample(.get, "/f?limit=\(text.replacing(" ", with: "%20"))")
            #expect(throws: Refusal.self, "\(text)") { try request.integer("limit", in: 1...10) }
        }
        #expect(try ControlRequest.sample(.get, "/f?at=2.5").number("at", in: 0...10) == 2.5)
        for text in ["nan", "inf", "-inf", "11", "-0.1", "x", "", "1e999"] {
            #expect(throws: Refusal.self, "\(text)") {
                try ControlRequest.sample(.get, "/f?at=\(text)").number("at", in: 0...10)
            }
        }
    }
}
