// SPDX-License-Identifier: Apache-2.0

/// Why a request of an operator or a program was not carried out.
package struct Refusal: Error, Equatable, CustomStringConvertible {
    /// The class of the refusal. The HTTP server has a status code for each class.
    package enum Kind: Sendable {
        /// The request cannot be understood.
        case malformed
        /// The client is not authenticated.
        case unauthenticated
        /// The client is not permitted to make the request.
        case forbidden
        /// The thing that the request names does not exist.
        case notFound
        /// The request does not fit the present state.
        case conflict
        /// The body of the request is too large.
        case tooLarge
        /// The request is well-formed, but cannot be carried out as written.
        case unusable
        /// The client asked too often in a short time, or as many jobs, changes or clips as possible already wait or
        /// run.
        case tooMany
        /// The request cannot be carried out now, but perhaps later.
        case unavailable
    }

    /// The class of the refusal.
    package let kind: Kind
    /// A sentence for the operator, without secrets.
    package let detail: String
    /// One line for each problem, if the contents of a run-down or of the configuration file are refused; otherwise
    /// empty.
    package var errors: [String] = []

    /// A refusal of `kind`.
    package init(_ kind: Kind, _ detail: String, errors: [String] = []) {
        (self.kind, self.detail, self.errors) = (kind, detail, errors)
    }

    package var description: String { detail }
}
