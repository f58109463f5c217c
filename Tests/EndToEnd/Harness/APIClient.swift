// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// Asks a relay by HTTP, with curl.
struct APIClient {
    /// `http://host:port`.
    let base: String
    /// Shown with each request; nil for none.
    var token: String?

    /// What was answered.
    struct Answer {
        let status: Int
        let body: String

        /// The body as JSON.
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

    /// What is known of an output.
    func output(_ name: String, of channel: String = "relay") async throws -> [String: Any] {
        try await ask("GET", "/v1/channels/\(channel)/outputs/\(name)").json()
    }

    /// What comes in so many seconds of an answer that has no end of its own; into `file` if there is one.
    func stream(_ path: String, seconds: Int, headers: [String] = [], to file: String? = nil) async throws -> String {
        var arguments = ["-c", "curl \"$@\" || true", "sh", "-sN", "--max-time", "\(seconds)", base + path]
        for header in headers { arguments += ["-H", header] }
        if let file { arguments += ["-o", file] }
        return try await run("sh", arguments)
    }
}
