// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import HummingbirdCore
import Media
import NIOCore
import TestSupport
import Testing

@testable import Control

@Suite("Names of clips and of exported files in requests")
struct ClipNameTests {
    private static let accepted = ["Goal", "a", "Goal 1:0", "é", String(repeating: "é", count: 100)]
    private static let refused = [
        "", "a/b", ".hidden", "a\nb", "a\u{1B}[0m", "a\u{0}", String(repeating: "a", count: 101),
        // A single character of 101 scalars.
        "e" + String(repeating: "\u{301}", count: 100),
    ]

    @Test("A name of 1 to 100 scalars without slash, control character and leading point is accepted unchanged")
    func accepts() throws {
        for name in Self.accepted { #expect(try ClipName.checked(name) == name) }
        #expect(try ClipName.checked(nil) == nil)
    }

    @Test("A name that cannot be the name of a file is refused", arguments: refused)
    func refuses(name: String) {
        #expect(throws: Refusal.self) { try ClipName.checked(name) }
    }

    @Test("An export is refused by the same rule for names as a clip")
    func exports() async throws {
        let gate = RequestGate(settings: ControlSettings(), tokens: TokenGuard([]), isLocal: false)
        let responder = ControlResponder(ExportRoutes(host: FakeHost()).endpoints, gate: gate, logger: quiet)
        // The host has no recordings, so it answers a request that passes the check with 404.
        for (names, status) in [(Self.accepted, 404), (Self.refused, 422)] {
            for name in names {
                let asked = [
                    "channel": "main", "from": "2026-11-21T14:00:00Z", "to": "2026-11-21T14:01:00Z", "name": name,
                ]
                var request = Request.sample(.post, "/v1/exports", [.contentType: "application/json"])
                request.body = RequestBody(buffer: ByteBuffer(bytes: try JSONEncoder().encode(asked)))
                let response = try await responder.respond(to: request, context: ControlRequest.sample().context)
                #expect(response.status.code == status, "\(name.debugDescription)")
            }
        }
    }
}
