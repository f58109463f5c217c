// SPDX-License-Identifier: Apache-2.0

/// Why an output's attempt to be on air ended, in terms of what to do next.
public struct OutputFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// What the failure means for the next attempt.
    public enum Kind: String, Sendable, Codable {
        /// Nobody answered: name not resolved, connection refused, no route, silence up to a deadline.
        case unreachable
        /// The output was on air and the connection broke.
        case lost
        /// The peer answered and closed or failed the session; it may accept the next.
        case rejected
        /// The peer refused for a reason that will not pass by itself: bad key, no permission, wrong passphrase.
        case refused
    }

    /// What the failure means.
    public let kind: Kind
    /// The step that failed, such as `resolve`, `connect`, `handshake`, `publish`, `send`.
    public let step: String
    /// What was attempted on what, and what the library said; without secrets.
    public let reason: String

    /// A failure of `kind` in `step`.
    public init(_ kind: Kind, step: String, reason: String) {
        self.kind = kind
        self.step = step
        self.reason = reason
    }

    public var description: String { "\(step): \(reason)" }
}
