// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// Sends requests to the HTTP API of a relay with curl.
struct APIClient {
    /// The server's address, as `http://host:port`.
    let base: String
    /// The token that is sent with each request; nil for no token.
    var token: String?

    /// The answer to a request.
    struct Answer {
        let status: Int
        let body: String

        /// Parses the body as JSON.
        func json() throws -> [String: Any] {
            try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any] ?? [:]
        }
    }

    func ask(
        _ method: String, _ path: String, body: String? = nil, headers: [String] = [], limit: Int = 20
    ) async throws -> Answer {
        var arguments = ["-s", "--max-time", "\(limit)", "-X", method, "-w", "\n%{http_code}", base + path]
        if let body { arguments += ["-d", body] }
        if body != nil, !headers.contains(where: { $0.hasPrefix("Content-Type") }) {
            arguments += ["-H", "Content-Type: application/json"]
        }
        if let token { arguments += ["-H", "Authorization: Bearer \(token)"] }
        for header in headers { arguments += ["-H", header] }
        let lines = try await run("curl", arguments).split(separator: "\n", omittingEmptySubsequences: false)
        return Answer(status: Int(lines.last ?? "") ?? 0, body: lines.dropLast().joined(separator: "\n"))
    }

    /// Returns the status of an output.
    func output(_ name: String, of channel: String = "relay") async throws -> [String: Any] {
        try await ask("GET", "/v1/channels/\(channel)/outputs/\(name)").json()
    }

    /// Returns what is received within `seconds` seconds from a response that has no end. If `file` is given, writes it
    /// to this file.
    func stream(_ path: String, seconds: Int, headers: [String] = [], to file: String? = nil) async throws -> String {
        var arguments = ["-c", "curl \"$@\" || true", "sh", "-sN", "--max-time", "\(seconds)", base + path]
        for header in headers { arguments += ["-H", header] }
        if let file { arguments += ["-o", file] }
        return try await run("sh", arguments)
    }
}
