// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird
import HummingbirdCore
import Media
import TestSupport
import Testing

@testable import Control

@Suite("Parameters of queries that have a list of values")
struct DescribedQueryTests {
    private func endpoint(_ operation: String) -> Endpoint? {
        let parts = operation.split(separator: " ")
        guard parts.count == 2, let method = HTTPRequest.Method(String(parts[0])) else { return nil }
        return Endpoint(method, String(parts[1]), .view) { _ in Response(status: .ok) }
    }

    /// The reason for which a request with `query` is refused; nil if it is not.
    private func refusal(_ operation: String, _ query: String) throws -> Refusal? {
        let endpoint = try #require(self.endpoint(operation))
        do throws(Refusal) {
            try DescribedQuery.check(.sample(endpoint.method, endpoint.path + query), for: endpoint)
            return nil
        } catch {
            return error
        }
    }

    @Test("The allowed values of query parameters come from the OpenAPI description, even for shared parameters")
    func description() {
        #expect(DescribedQuery.choices["GET /v1/events"] == ["meters": ["0", "1"]])
        let recording = "GET /v1/channels/{channel}/recordings/{recording}"
        #expect(DescribedQuery.choices[recording] == ["download": ["0", "1"]])
        #expect(DescribedQuery.choices[recording + "/thumbnail.jpg"] == ["exact": ["0", "1"]])
    }

    @Test("A query parameter accepts each value of its list, and refuses any other value with the list")
    func values() throws {
        #expect(DescribedQuery.choices.count >= 5)
        for (operation, parameters) in DescribedQuery.choices {
            for (name, values) in parameters {
                for value in values { #expect(try refusal(operation, "?\(name)=\(value)") == nil) }
                for wrong in ["AAA", "", "01", "%31x", "1&\(name)=2", "true"] {
                    let refused = try refusal(operation, "?other=1&\(name)=\(wrong)")
                    #expect(refused?.kind == .malformed, "\(operation) \(name)=\(wrong)")
                    #expect(refused?.detail == "\(name) is one of \(values.joined(separator: ", ")).")
                }
            }
            for query in ["", "?other=AAA"] { #expect(try refusal(operation, query) == nil) }
        }
    }

    @Test("Every HTTP response forbids pages of other origins to load it")
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
