// SPDX-License-Identifier: Apache-2.0

import CPage
import Foundation
import Logging
import Testing

@testable import Control

/// The description of the API against the server.
@Suite("The API's description")
struct OpenAPITests {
    private struct Document: Decodable {
        struct Operation: Decodable {
            let operationId: String
            let security: [[String: [String]]]?
        }

        let openapi: String
        let paths: [String: [String: Operation]]
    }

    private func document() throws -> Document {
        var count = 0
        let assets = UnsafeBufferPointer(start: relay_assets(&count), count: count)
        let asset = try #require(assets.first { String(cString: $0.path) == "v1/openapi.json" })
        return try JSONDecoder().decode(Document.self, from: Data(bytes: asset.bytes, count: asset.count))
    }

    private var server: ControlServer {
        ControlServer(
            ControlSettings(), host: FakeHost(), events: EventLog(), version: "1", logger: Logger(label: "test"))
    }

    @Test("It has each operation that the server answers, and no other; files of the page are none")
    func operations() throws {
        let document = try document()
        #expect(document.openapi.hasPrefix("3.1"))
        let described = document.paths.flatMap { path, methods in methods.keys.map { "\($0.uppercased()) \(path)" } }
        let answered = server.operations.filter { $0.contains("/v1") || $0.contains("/metrics") || $0.hasSuffix("z") }
        #expect(Set(described).symmetricDifference(answered).sorted() == [])
        #expect(described.count > 20)
    }

    @Test("Operations have names of their own")
    func names() throws {
        let names = try document().paths.values.flatMap { $0.values.map(\.operationId) }
        #expect(Set(names).count == names.count)
    }
}
