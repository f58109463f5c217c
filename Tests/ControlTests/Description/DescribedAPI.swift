// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import NIOCore
import Testing

@testable import Control

/// The operations in the API's description, with the values from which tests derive requests. The tests have a parser
/// of their own, so that they find faults of the server's parser.
struct DescribedAPI {
    /// One operation.
    struct Operation: CustomStringConvertible {
        let method: HTTPRequest.Method
        /// The path, with its parameters in braces.
        let path: String
        /// The role that a client needs, according to the description.
        let role: ControlRole
        /// The media types of each response, by the response's status; empty if the description names none.
        let responses: [Int: Set<String>]
        let query: [Query]

        var description: String { "\(method.rawValue) \(path)" }
        var changesSomething: Bool { method != .get && method != .head }

        /// The path with `value(name)` in place of each parameter.
        func filled(_ value: (String) -> String) -> String {
            path.split(separator: "/", omittingEmptySubsequences: false)
                .map { $0.hasPrefix("{") ? value(String($0.dropFirst().dropLast())) : String($0) }
                .joined(separator: "/")
        }

        /// The operation's path on the existing channel, with identifiers of things that do not exist.
        var samplePath: String { filled { $0 == "channel" ? "main" : "1" } }
    }

    /// A parameter of the query whose values are limited.
    struct Query {
        let name: String
        /// Values at the bounds, encoded for a query.
        let right: [String]
        /// Values outside the bounds, encoded for a query.
        let wrong: [String]
    }

    let operations: [Operation]

    /// The methods that the description lists for each path, and also HEAD if the path has GET.
    var methods: [String: Set<HTTPRequest.Method>] {
        Dictionary(grouping: operations, by: \.path).mapValues { operations in
            let methods = Set(operations.map(\.method))
            return methods.contains(.get) ? methods.union([.head]) : methods
        }
    }

    init() throws {
        let file = try #require(BuiltInFile.named("v1/openapi.json"))
        let document = try JSONDecoder().decode(Document.self, from: Data(file.content.readableBytesView))
        var operations: [Operation] = []
        for (path, written) in document.paths.sorted(by: { $0.key < $1.key }) {
            for (name, operation) in written.sorted(by: { $0.key < $1.key }) {
                let method = try #require(HTTPRequest.Method(name.uppercased()))
                operations.append(try document.operation(operation, method, path))
            }
        }
        self.operations = operations
    }
}

/// The parts of the OpenAPI description that the tests read.
private struct Document: Decodable {
    struct Ignored: Decodable {}

    struct Operation: Decodable {
        let description: String?
        let security: [[String: [String]]]?
        let responses: [String: Response]
        let parameters: [Parameter]?
    }

    struct Response: Decodable {
        let content: [String: Ignored]?
        let reference: String?

        private enum CodingKeys: String, CodingKey {
            case content
            case reference = "$ref"
        }
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

    struct Schema: Decodable {
        let type: String?
        let values: [String]?
        let minimum: Double?
        let maximum: Double?
        let minLength: Int?

        private enum CodingKeys: String, CodingKey {
            case type, minimum, maximum, minLength
            case values = "enum"
        }

        /// Values at the bounds, and values outside of them; both empty for a schema without bounds.
        var samples: (right: [String], wrong: [String]) {
            if let values { return (values, ["AAA", "", "01", "%31x", "true"]) }
            let bounds = [minimum, maximum].compactMap(\.self)
            switch type {
            case "integer":
                let outside = [minimum.map { $0 - 1 }, maximum.map { $0 + 1 }].compactMap(\.self)
                return (
                    bounds.map { "\(Int64($0))" },
                    outside.map { "\(Int64($0))" } + ["", "x", "5.5", "1e1", "99999999999999999999"]
                )
            case "number":
                let outside = [minimum.map { $0 - 0.5 }, maximum.map { $0 + 0.5 }].compactMap(\.self)
                return (
                    bounds.map { "\($0)" }, outside.map { "\($0)" } + ["", "x", "nan", "inf", "-inf", "1e999"]
                )
            default:
                guard let least = minLength, least > 0 else { return ([], []) }
                return (
                    [String(repeating: "%C3%A9", count: least)], [String(repeating: "a", count: least - 1)]
                )
            }
        }
    }

    struct Components: Decodable {
        let parameters: [String: Parameter]
        let responses: [String: Response]
    }

    let paths: [String: [String: Operation]]
    let components: Components

    func operation(
        _ written: Operation, _ method: HTTPRequest.Method, _ path: String
    ) throws -> DescribedAPI.Operation {
        var responses: [Int: Set<String>] = [:]
        for (status, response) in written.responses {
            let shared = Self.name(response.reference).flatMap { components.responses[$0] } ?? response
            let number = try #require(Int(status), "\(method) \(path)")
            responses[number] = Set((shared.content ?? [:]).keys)
        }
        let query = (written.parameters ?? []).compactMap { written -> DescribedAPI.Query? in
            let parameter = Self.name(written.reference).flatMap { components.parameters[$0] } ?? written
            guard parameter.place == "query", let name = parameter.name, let schema = parameter.schema else {
                return nil
            }
            let (right, wrong) = schema.samples
            return wrong.isEmpty ? nil : DescribedAPI.Query(name: name, right: right, wrong: wrong)
        }
        return DescribedAPI.Operation(
            method: method, path: path, role: try role(of: written, "\(method) \(path)"), responses: responses,
            query: query)
    }

    /// Returns the role in the sentence "Needs the role …"; `none` for an operation without security.
    private func role(of operation: Operation, _ name: String) throws -> ControlRole {
        let text = operation.description ?? ""
        let word = text.firstMatch(of: /Needs the role ([a-z]+)\./).map { String($0.1) }
        if operation.security?.isEmpty == true {
            #expect(word == nil, "\(name) needs a role, but no security")
            return .none
        }
        let role = word.flatMap { ControlRole(rawValue: $0) }
        return try #require(role, "\(name) names no role")
    }

    private static func name(_ reference: String?) -> String? {
        reference?.split(separator: "/").last.map(String.init)
    }
}
