// SPDX-License-Identifier: Apache-2.0

/// Why something that was asked for by HTTP was not done.
package struct ControlFailure: Error, Equatable, CustomStringConvertible {
    /// What kind of answer it is, by its HTTP status.
    package enum Kind: Int, Sendable {
        /// The request cannot be understood.
        case malformed = 400
        /// Who asks is not known.
        case unauthenticated = 401
        /// Who asks may not do it.
        case forbidden = 403
        /// There is no such thing.
        case notFound = 404
        /// It does not fit what is now.
        case conflict = 409
        /// The body is too large.
        case tooLarge = 413
        /// It is understood, and cannot be done as it is written.
        case unusable = 422
        /// Too much was asked for in a short time.
        case tooMany = 429
        /// It may be possible later.
        case unavailable = 503
    }

    /// The kind.
    package let kind: Kind
    /// A sentence for the operator, without secrets.
    package let detail: String
    /// What is wrong, a line each, where there is more than one thing.
    package var errors: [String] = []

    /// A failure of `kind`.
    package init(_ kind: Kind, _ detail: String, errors: [String] = []) {
        (self.kind, self.detail, self.errors) = (kind, detail, errors)
    }

    package var description: String { detail }
}
