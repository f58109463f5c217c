// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// The body of a response by which the HTTP API refuses a request (RFC 9457).
enum APIRefusal {
    private struct Problem: Decodable {
        let detail: String?
        let title: String?
        let errors: [String]?
    }

    /// Returns why the request was refused, in one line for each reason. A body that is no problem report gives one
    /// line with the status.
    static func lines(_ status: Int, _ body: [UInt8]) -> [String] {
        let problem = try? JSONDecoder().decode(Problem.self, from: Data(body))
        let detail = problem?.detail ?? problem?.title ?? "The server answers with \(status)."
        let errors = problem?.errors ?? []
        return errors.isEmpty ? [detail] : errors
    }
}
