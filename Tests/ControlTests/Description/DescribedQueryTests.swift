// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird
import HummingbirdCore
import Media
import TestSupport
import Testing

@testable import Control

@Suite("Parameters of queries whose values the API's description limits")
struct DescribedQueryTests {
    private func endpoint(_ operation: String) -> Endpoint? {
        let parts = operation.split(separator: " ")
        guard parts.count == 2, let method = HTTPRequest.Method(String(parts[0])) else { return nil }
        return Endpoint(method, String(parts[1]), .view) { _ in Response(status: .ok) }
    }

    /// Returns the refusal of a request with `query`; nil if the request is accepted.
    private func refusal(_ operation: String, _ query: String) throws -> Refusal? {
        let endpoint = try #require(self.endpoint(operation))
        do throws(Refusal) {
            try DescribedQuery.check(.sample(endpoint.method, endpoint.path + query), for: endpoint)
            return nil
        } catch {
            return error
        }
    }

    @Test("The rules of query parameters come from the OpenAPI description, even for shared parameters")
    func description() {
        let channel = "GET /v1/channels/{channel}"
        let width = QueryRule.integer(32...1920)
        let (bit, name) = (QueryRule.choice(["0", "1"]), QueryRule.text(least: 1))
        #expect(
            DescribedQuery.rules["GET /v1/events"] == [
                "meters": bit, "lastEventId": .integer(0...9_007_199_254_740_991),
            ])
        #expect(DescribedQuery.rules[channel + "/snapshot.jpg"] == ["width": width])
        #expect(
            DescribedQuery.rules[channel + "/recordings/{recording}"] == ["download": bit, "source": name])
        #expect(
            DescribedQuery.rules[channel + "/recordings/{recording}/thumbnail.jpg"] == [
                "exact": bit, "width": width, "at": .number(0...31_536_000), "source": name,
            ])
        #expect(DescribedQuery.rules[channel] == nil)
    }

    @Test("A query parameter may occur several times if each value is allowed; a refusal states the allowed values")
    func refusals() throws {
        let events = "GET /v1/events"
        for query in ["", "?other=AAA", "?meters=0&meters=1", "?lastEventId=0&meters=1"] {
            #expect(try refusal(events, query) == nil, "\(query)")
        }
        for (query, sentence) in [
            ("?meters=0&meters=2", "meters is one of 0, 1."),
            ("?lastEventId=-1", "lastEventId is a whole number from 0 to 9007199254740991."),
        ] {
            let refused = try refusal(events, query)
            #expect(refused?.kind == .malformed && refused?.detail == sentence, "\(query)")
        }
        let thumbnail = "GET /v1/channels/{channel}/recordings/{recording}/thumbnail.jpg"
        #expect(try refusal(thumbnail, "?at=-1")?.detail == "at is a number from 0.0 to 31536000.0.")
        #expect(try refusal(thumbnail, "?source=")?.detail == "source has 1 or more characters.")
    }

    @Test("Every HTTP response forbids web pages of other origins to load that response")
    func sharing() async throws {
        let gate = RequestGate(settings: ControlSettings(), tokens: TokenGuard([]), isLocal: false)
        let events = Endpoint(.get, "/v1/events", .view) { _ in Response(status: .ok) }
        let responder = ControlResponder([events], gate: gate, logger: quiet)
        let field = try #require(HTTPField.Name("Cross-Origin-Resource-Policy"))
        for (path, status) in [("/v1/events", 200), ("/v1/events?meters=2", 400), ("/v1/none", 404)] {
            let response = try await responder.respond(
                to: .sample(.get, path), context: ControlRequest.sample().context)
            #expect(response.status.code == status && response.headers[field] == "same-origin", "\(path)")
        }
    }
}
