// SPDX-License-Identifier: Apache-2.0

import Foundation
import Kernels
import Logging
import Media
import NIOCore
import Program
import Status
import Testing

@testable import Control
@testable import Studio

/// Compares the API's description with the server.
@Suite("The OpenAPI description of the HTTP interface")
struct OpenAPITests {
    private struct Document: Decodable {
        struct Operation: Decodable {
            let operationId: String
            let description: String?
            let security: [[String: [String]]]?
        }

        let openapi: String
        let paths: [String: [String: Operation]]
    }

    /// The schema of an object in a response.
    private struct Schema: Decodable {
        let required: [String]
        let properties: [String: Property]

        struct Property: Decodable {
            let items: Items?
        }

        /// The items of a list; if they are strings or numbers, they have no properties.
        struct Items: Decodable {
            let required: [String]?
            let properties: [String: Ignored]?
        }

        struct Ignored: Decodable {}
    }

    private struct Components: Decodable {
        struct Schemas: Decodable {
            let program: Schema

            enum CodingKeys: String, CodingKey { case program = "Program" }
        }

        struct Parts: Decodable { let schemas: Schemas }

        let components: Parts
    }

    private func text() throws -> Data {
        Data(try #require(BuiltInFile.named("v1/openapi.json")).content.readableBytesView)
    }

    private func document() throws -> Document { try JSONDecoder().decode(Document.self, from: try text()) }

    private var server: ControlServer {
        ControlServer(
            ControlSettings(), host: FakeHost(), events: EventLog(), version: "1", logger: Logger(label: "test"))
    }

    @Test("The OpenAPI description has exactly the server's operations, apart from the files of the web page")
    func operations() throws {
        let document = try document()
        #expect(document.openapi.hasPrefix("3.1"))
        let described = document.paths.flatMap { path, methods in methods.keys.map { "\($0.uppercased()) \(path)" } }
        let answered = server.operations.filter { $0.contains("/v1") || $0.contains("/metrics") || $0.hasSuffix("z") }
        #expect(Set(described).symmetricDifference(answered).sorted() == [])
        #expect(described.count > 20)
    }

    @Test("Each operation in the OpenAPI description has its own name")
    func names() throws {
        let names = try document().paths.values.flatMap { $0.values.map(\.operationId) }
        #expect(Set(names).count == names.count)
    }

    @Test("The OpenAPI description of events lists all kinds of events, and no others")
    func eventKinds() throws {
        let description = try #require(try document().paths["/v1/events"]?["get"]?.description)
        let list = try #require(description.firstMatch(of: /The kind is ([a-z, ]+)\./)).1
        let kinds = list.replacing(" or ", with: ", ").split(separator: ", ").map(String.init)
        #expect(kinds == EventKind.allCases.map(\.rawValue))
    }

    @Test("In the OpenAPI description, responses and parameters that several operations share occur once")
    func shared() throws {
        let object = try JSONSerialization.jsonObject(with: try text()) as? [String: Any] ?? [:]
        let paths = object["paths"] as? [String: [String: [String: Any]]] ?? [:]
        var found: [String: Int] = [:]
        for operation in paths.values.flatMap(\.values) {
            let responses = operation["responses"] as? [String: [String: Any]] ?? [:]
            let parameters = operation["parameters"] as? [[String: Any]] ?? []
            #expect(!responses.isEmpty)
            for part in Array(responses.values) + parameters where part["$ref"] == nil {
                let text = try JSONSerialization.data(withJSONObject: part, options: .sortedKeys)
                found[String(decoding: text, as: UTF8.self), default: 0] += 1
            }
        }
        #expect(!paths.isEmpty && found.filter { $0.value > 1 }.isEmpty)
    }

    @Test("The OpenAPI description of a program's source includes whether it has video, and all other properties")
    func programSources() throws {
        let sources = [true, false].map {
            ProgramReport.Source(
                name: "one", hasVideo: $0, input: $0 ? "one" : nil, isOnAir: $0, isInPreview: false, gain: 0,
                isMuted: false, levels: [])
        }
        let scene = SceneLayout(.single, ["one"])
        let report = ProgramReport(
            frame: 0, scene: scene, preview: scene, transition: TransitionRequest(.fade), audioFrom: "follow",
            sources: sources, scenes: [])
        let object = try JSONSerialization.jsonObject(with: Data(JSON.encode(report))) as? [String: Any] ?? [:]
        let told = object["sources"] as? [[String: Any]] ?? []
        #expect(told.map { $0["hasVideo"] as? Bool } == [true, false])
        let schema = try JSONDecoder().decode(Components.self, from: try text()).components.schemas.program
        let items = try #require(schema.properties["sources"]?.items)
        for source in told {
            #expect(Set(items.required ?? []).subtracting(source.keys).isEmpty)
            #expect(Set(source.keys).subtracting((items.properties ?? [:]).keys).isEmpty)
        }
        #expect(Set(schema.required).subtracting(object.keys).isEmpty)
        #expect(Set(object.keys).subtracting(schema.properties.keys).isEmpty)
    }
}
