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

    @Test("The rules come from the API's description, also of parameters that several operations share")
    func description() {
        let channel = "GET /v1/channels/{channel}"
        let width = DescribedQuery.Rule.integer(32...1920)
        let (bit, name) = (DescribedQuery.Rule.choice(["0", "1"]), DescribedQuery.Rule.text(least: 1))
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

    /// Values that `rule` allows, and values that it does not: the bounds and what is just outside.
    private func samples(_ rule: DescribedQuery.Rule) -> (right: [String], wrong: [String]) {
        switch rule {
        case .choice(let values): (values, ["AAA", "", "01", "%31x", "true"])
        case .integer(let range):
            (
                ["\(range.lowerBound)", "\(range.upperBound)"],
                ["\(range.lowerBound &- 1)", "\(range.upperBound &+ 1)", "", "x", "5.0", "1e1", "99999999999999999999"]
            )
        case .number(let range):
            (
                ["\(range.lowerBound)", "\(range.upperBound)"],
                ["\(range.lowerBound - 0.5)", "\(range.upperBound + 0.5)", "", "x", "nan", "inf", "1e999"]
            )
        case .text(let least): ([String(repeating: "%C3%A9", count: least)], [String(repeating: "a", count: least - 1)])
        }
    }

    @Test(
        "For each parameter with a rule, values inside its bounds are accepted, and any other is refused with the rule")
    func values() throws {
        #expect(DescribedQuery.rules.count >= 20)
        for (operation, parameters) in DescribedQuery.rules {
            for (name, rule) in parameters {
                let (right, wrong) = samples(rule)
                for value in right { #expect(try refusal(operation, "?\(name)=\(value)") == nil, "\(name)=\(value)") }
                for value in wrong + ["\(right[0])&\(name)=\(wrong[0])"] {
                    let refused = try refusal(operation, "?other=1&\(name)=\(value)")
                    #expect(refused?.kind == .malformed, "\(operation) \(name)=\(value)")
                    #expect(refused?.detail == rule.sentence(name))
                }
            }
            for query in ["", "?other=AAA"] { #expect(try refusal(operation, query) == nil) }
        }
    }

    @Test("Every response forbids pages of other origins to load it")
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
