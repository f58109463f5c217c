// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Media
import TestSupport
import Testing

@testable import Networking

@Suite struct HTTPClientTests {
    private let gate = DispatchSemaphore(value: 0)

    /// A client whose name server answers when ``gate`` is signalled.
    private func client(_ address: String) throws -> HTTPClient {
        let resolver = HostResolver(timeout: .seconds(3600)) { [gate] _ in
            gate.wait()
            return []
        }
        return HTTPClient(try HTTPEndpoint(address), resolver: resolver)
    }

    @Test("An HTTP request ends at its deadline although the name server does not answer", .timeLimit(.minutes(1)))
    func late() async throws {
        defer { gate.signal() }
        let client = try client("https://media.example/")
        let failure = await #expect(throws: OutputFailure.self) {
            try await client.answer(to: .init("GET"), within: .milliseconds(200))
        }
        #expect(failure?.kind == .unreachable)
        let other = await #expect(throws: OutputFailure.self) {
            _ = try await client.stream(.init("GET"), connecting: .milliseconds(200)) { _, _ in true }
        }
        #expect(other?.step == "resolve")
    }

    @Test("A silent server ends a streamed response, but a request for one answer waits for its deadline")
    func silent() async throws {
        let directory = try TemporaryDirectory()
        let listener = try UnixListener(directory.path("http.sock"))
        defer { withExtendedLifetime(listener) {} }
        let client = HTTPClient(HTTPEndpoint(socket: directory.path("http.sock")), longestIdle: .milliseconds(10))
        let ended = await #expect(throws: OutputFailure.self) {
            _ = try await client.stream(.init("GET"), connecting: .seconds(10)) { _, _ in true }
        }
        #expect(ended?.kind == .rejected)
        let late = await #expect(throws: OutputFailure.self) {
            _ = try await client.answer(to: .init("GET"), within: .milliseconds(200))
        }
        #expect(late?.reason == "none came within 200ms")
    }

    @Test("A cancelled HTTP request ends at once although the name server does not answer", .timeLimit(.minutes(1)))
    func cancelled() async throws {
        defer { gate.signal() }
        let client = try client("http://media.example/")
        let asker = Task { try await client.answer(to: .init("GET"), within: .seconds(3600)) }
        asker.cancel()
        await #expect(throws: OutputFailure.self) { try await asker.value }
    }

    @Test("A response's length is a number from 0 on", arguments: ["-1", "9223372036854775808", "1e3", "", " 1", "x"])
    func lengths(text: String) {
        let head = HTTPReplyHead(status: 200) { $0 == "Content-Length" ? text : nil }
        #expect(head.length == nil && head.location == nil && head.isSuccess)
        #expect(HTTPReplyHead(status: 302) { $0 == "Content-Length" ? "0" : "/x" }.length == 0)
        #expect(HTTPReplyHead(status: 302) { $0 == "Content-Length" ? "\(Int64.max)" : "/x" }.location == "/x")
    }
}
