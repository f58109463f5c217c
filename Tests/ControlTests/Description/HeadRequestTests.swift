// SPDX-License-Identifier: Apache-2.0

import FanOut
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Media
import NIOCore
import PacketSamples
import Synchronization
import TestSupport
import Testing

@testable import Control

@Suite("HEAD requests and methods that a path does not have")
struct HeadRequestTests {
    /// A program that is on air until ``end()`` is called.
    private final class Show: Sendable {
        private struct NoKeyframes: KeyframeRequester {
            func requestKeyframe(at programTime: ProgramInstant?) {}
        }

        private let current: Mutex<PacketStream?>

        init() {
            let stream = PacketStream()
            stream.begin(Samples.description, keyframes: NoKeyframes())
            current = Mutex(stream)
        }

        var stream: PacketStream? { current.withLock { $0 } }
        func end() { current.withLock { $0 = nil } }
    }

    /// A weak reference to a stream; nil when the stream was released.
    private final class Observed {
        weak var stream: PacketStream?
        init(_ stream: PacketStream?) { self.stream = stream }
    }

    private var responder: ControlResponder {
        let endpoints = [
            Endpoint(.get, "/v1/text", .view) { _ in
                Response(
                    status: .ok, headers: [.contentType: "text/plain"],
                    body: .init(byteBuffer: ByteBuffer(string: "twelve bytes")))
            },
            Endpoint(.get, "/v1/refused", .view) { _ in throw Refusal(.conflict, "It does not fit.") },
            Endpoint(.get, "/v1/stream", .view) { request in
                Response(
                    status: .ok,
                    body: StreamedBody.body(of: request) { _ in Issue.record("a HEAD request has no body") })
            },
            Endpoint(.post, "/v1/act", .operate) { _ in Response(status: .ok) },
        ]
        let gate = RequestGate(settings: ControlSettings(), tokens: TokenGuard([]), isLocal: false)
        return ControlResponder(endpoints, gate: gate, logger: quiet)
    }

    private func answer(_ method: HTTPRequest.Method, _ path: String) async throws -> (Response, CollectedBody) {
        let response = try await responder.respond(
            to: .sample(method, path), context: ControlRequest.sample().context)
        let body = CollectedBody()
        try await response.body.write(CollectedBody.Writer(body: body))
        return (response, body)
    }

    @Test("A HEAD request gets the status, type and length of the GET response, and no body")
    func like() async throws {
        for (path, status, length) in [
            ("/v1/text", 200, "12"), ("/v1/refused", 409, nil), ("/v1/none", 404, nil),
        ] as [(String, Int, String?)] {
            let (got, gotBody) = try await answer(.get, path)
            let (head, headBody) = try await answer(.head, path)
            #expect(head.status.code == status && got.status.code == status, "\(path)")
            #expect(head.headers == got.headers && !gotBody.bytes.isEmpty, "\(path)")
            #expect(headBody.bytes.isEmpty && headBody.isFinished, "\(path)")
            if let length { #expect(head.headers[.contentLength] == length) }
        }
    }

    @Test("A HEAD request for an endless stream is answered at once with an empty body")
    func stream() async throws {
        let (head, body) = try await answer(.head, "/v1/stream")
        #expect(head.status == .ok && body.bytes.isEmpty && body.isFinished)
        #expect(head.headers[.contentLength] == "0")
    }

    @Test("A HEAD request for a preview is answered, and does not keep the program in memory after its end")
    func preview() async throws {
        let show = Show()
        let observed = Observed(show.stream)
        let gate = RequestGate(settings: ControlSettings(), tokens: TokenGuard([]), isLocal: false)
        let routes = PreviewRoutes(host: FakeHost { show.stream })
        let response = try await ControlResponder(routes.endpoints, gate: gate, logger: quiet).respond(
            to: .sample(.head, "/v1/channels/main/preview.mp4"), context: ControlRequest.sample().context)
        #expect(response.status == .ok && response.headers[.contentType] == "video/mp4")
        show.end()
        let isReleased = observed.stream == nil
        #expect(isReleased)
        withExtendedLifetime(routes) {}
    }

    @Test("A method that a path does not support is refused with a list of the supported methods")
    func methods() async throws {
        for (method, path, allowed) in [
            (.post, "/v1/text", "GET, HEAD"), (.head, "/v1/act", "POST"), (.get, "/v1/act", "POST"),
        ] as [(HTTPRequest.Method, String, String)] {
            let (response, _) = try await answer(method, path)
            #expect(response.status == .methodNotAllowed && response.headers[.allow] == allowed, "\(method) \(path)")
        }
    }
}
