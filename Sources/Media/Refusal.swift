// SPDX-License-Identifier: Apache-2.0

/// Why something that an operator or a program asked for was not done.
package struct Refusal: Error, Equatable, CustomStringConvertible {
    /// What kind of answer it is. The HTTP server has a status for each.
    package enum Kind: Sendable {
        /// The request cannot be understood.
        case malformed
        /// Who asks is not known.
        case unauthenticated
        /// Who asks may not do it.
        case forbidden
        /// There is no such thing.
        case notFound
        /// It does not fit what is now.
        case conflict
        /// The body is too large.
        case tooLarge
        /// It is understood, and cannot be done as it is written.
        case unusable
        /// Too much was asked for in a short time.
        case tooMany
        /// It may be possible later.
        case unavailable
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
