// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Media

/// Problem details (RFC 9457), for programs and people.
struct Problem: Encodable {
    /// The HTTP status identifies the kind of problem; there is no web page about each kind.
    let type = "about:blank"
    let title: String
    let status: Int
    let detail: String
    /// Individual errors, one line each; nil if the detail describes them all.
    let errors: [String]?

    /// Returns the response for `failure`.
    static func response(_ failure: Refusal) -> Response {
        var headers = HTTPFields()
        if failure.kind == .unauthenticated { headers[.wwwAuthenticate] = "Bearer realm=\"relay\"" }
        if failure.kind == .tooMany { headers[.retryAfter] = "10" }
        if failure.kind == .unavailable { headers[.retryAfter] = "1" }
        return response(status: failure.kind.status, detail: failure.detail, errors: failure.errors, headers: headers)
    }

    /// Returns a response with `status` and the sentence `detail`.
    static func response(
        status: HTTPResponse.Status, detail: String, errors: [String] = [], headers: HTTPFields = [:]
    ) -> Response {
        let problem = Problem(
            title: status.reasonPhrase, status: status.code, detail: detail, errors: errors.isEmpty ? nil : errors)
        return JSON.response(problem, status: status, type: "application/problem+json", headers: headers)
    }
}

extension Refusal.Kind {
    fileprivate var status: HTTPResponse.Status {
        switch self {
        case .malformed: .badRequest
        case .unauthenticated: .unauthorized
        case .forbidden: .forbidden
        case .notFound: .notFound
        case .conflict: .conflict
        case .tooLarge: .contentTooLarge
        case .unusable: .unprocessableContent
        case .tooMany: .tooManyRequests
        case .unavailable: .serviceUnavailable
        }
    }
}
