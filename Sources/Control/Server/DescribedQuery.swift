// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Media
internal import NIOCore

/// The values that the API's description allows for query parameters. A request with another value is refused, because
/// it would otherwise be answered as if the parameter were missing.
enum DescribedQuery {
    private struct Description: Decodable {
        struct Schema: Decodable {
            let values: [String]?

            private enum CodingKeys: String, CodingKey { case values = "enum" }
        }

        struct Parameter: Decodable {
            let name: String?
            let place: String?
            let schema: Schema?
            let reference: String?

            private enum CodingKeys: String, CodingKey {
                case name, schema
                case place = "in"
                case reference = "$ref"
            }
        }

        struct Operation: Decodable { let parameters: [Parameter]? }
        struct Components: Decodable { let parameters: [String: Parameter] }

        let paths: [String: [String: Operation]]
        let components: Components
    }

    /// The allowed values of each query parameter for which the description lists values. The outer key is the
    /// operation, such as `GET /v1/events`; the inner key is the name of the parameter.
    static let choices: [String: [String: [String]]] = {
        guard let file = BuiltInFile.named("v1/openapi.json"),
            let description = try? JSONDecoder().decode(Description.self, from: Data(file.content.readableBytesView))
        else { return [:] }
        var choices: [String: [String: [String]]] = [:]
        for (path, operations) in description.paths {
            for (method, operation) in operations {
                for written in operation.parameters ?? [] {
                    let shared = written.reference?.split(separator: "/").last.map(String.init)
                    let parameter = shared.flatMap { description.components.parameters[$0] } ?? written
                    guard parameter.place == "query", let name = parameter.name, let values = parameter.schema?.values
                    else { continue }
                    choices["\(method.uppercased()) \(path)", default: [:]][name] = values
                }
            }
        }
        return choices
    }()

    /// Throws if a parameter of `request` to `endpoint` has a value that the description does not list.
    static func check(_ request: Request, for endpoint: Endpoint) throws(Refusal) {
        guard request.uri.query != nil, let choices = choices["\(endpoint.method.rawValue) \(endpoint.path)"] else {
            return
        }
        for (name, values) in choices.sorted(by: { $0.key < $1.key }) {
            for value in request.uri.queryParameters.getAll(name) where !values.contains(value) {
                throw Refusal(.malformed, "\(name) is one of \(values.joined(separator: ", ")).")
            }
        }
    }
}
