// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Media
internal import NIOCore

/// The values that the API's description allows for query parameters. A request with another value is refused before
/// anything else is looked up: otherwise it would be answered as if the parameter were missing, or differently on each
/// channel.
enum DescribedQuery {
    /// The rule of each query parameter that has one. The key is the operation, such as `GET /v1/events`.
    static let rules: [String: [String: QueryRule]] = {
        guard let file = BuiltInFile.named("v1/openapi.json"),
            let description = try? JSONDecoder().decode(APIDescription.self, from: Data(file.content.readableBytesView))
        else { return [:] }
        var rules: [String: [String: QueryRule]] = [:]
        for (path, operations) in description.paths {
            for (method, operation) in operations {
                for written in operation.parameters ?? [] {
                    let shared = written.reference?.split(separator: "/").last.map(String.init)
                    let parameter = shared.flatMap { description.components.parameters[$0] } ?? written
                    guard parameter.place == "query", let name = parameter.name,
                        let rule = parameter.schema.flatMap({ QueryRule($0) })
                    else { continue }
                    rules["\(method.uppercased()) \(path)", default: [:]][name] = rule
                }
            }
        }
        return rules
    }()

    /// Throws if a parameter of `request` to `endpoint` has a value that the description does not allow.
    static func check(_ request: Request, for endpoint: Endpoint) throws(Refusal) {
        let operation = "\(endpoint.method.rawValue) \(endpoint.path)"
        guard request.uri.query != nil, let rules = rules[operation] else { return }
        for (name, rule) in rules.sorted(by: { $0.key < $1.key }) {
            for value in request.uri.queryParameters.getAll(name) where !rule.allows(value) {
                throw Refusal(.malformed, rule.sentence(name))
            }
        }
    }
}
