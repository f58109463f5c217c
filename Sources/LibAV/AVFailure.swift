// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// A call of libav failed: what was attempted on what, and what the library said.
public struct AVFailure: Error, Sendable, CustomStringConvertible {
    /// What was attempted.
    public let operation: String
    /// On what; without secrets.
    public let subject: String
    /// libav's error code.
    public let code: Int32

    /// A failure with this code.
    public init(operation: String, subject: String, code: Int32) {
        self.operation = operation
        self.subject = subject
        self.code = code
    }

    /// libav's words for the code.
    public var reason: String {
        var text = [CChar](repeating: 0, count: 256)
        av_strerror(code, &text, text.count)
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    public var description: String { "\(operation) \(subject): \(reason)" }
}
