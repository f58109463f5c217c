// SPDX-License-Identifier: Apache-2.0

/// Why an endpoint (a server, a receiver, a directory) could not be reached or used. The kind of failure determines
/// what the output does next.
package struct OutputFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// What the failure means for the next attempt.
    package enum Kind: String, Sendable, Codable {
        /// No peer answered: the name was not resolved, the connection was refused, there was no route, or no answer
        /// came before a deadline.
        case unreachable
        /// The connection was established, then broke.
        case lost
        /// The peer answered, then closed or failed the session; it may accept the next session.
        case rejected
        /// The peer refused for a reason that needs an operator: bad key, no permission, wrong passphrase.
        case refused
    }

    /// What an operator should check first.
    package enum Hint: String, Sendable, Codable {
        /// The host's name is not known.
        case unknownName
        /// The server's certificate is not valid.
        case certificate
        /// The server rejects the stream key or the login.
        case credentials
    }

    /// The kind of failure.
    package let kind: Kind
    /// The step that failed, such as `resolve`, `connect`, `handshake`, `publish`, `send`.
    package let step: String
    /// What was attempted, on which address or file, and the library's message. It contains no secrets.
    package let reason: String
    /// What the operator should check first; nil if relay knows no more than the reason says.
    package let hint: Hint?

    /// A failure of `kind` in `step`.
    package init(_ kind: Kind, step: String, reason: String, hint: Hint? = nil) {
        (self.kind, self.step, self.reason, self.hint) = (kind, step, reason, hint)
    }

    package var description: String { "\(step): \(reason)" }
}
