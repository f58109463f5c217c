// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// A failed call of libavformat while writing.
public struct MuxerFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The call that failed, such as `avformat_write_header`.
    public let operation: String
    /// What it was about, such as the container's name.
    public let subject: String
    /// The library's code (`AVERROR`).
    public let code: Int32
    /// The library's own words.
    public let message: String

    init(_ operation: String, subject: String, code: Int32) {
        self.operation = operation
        self.subject = subject
        self.code = code
        message = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(AV_ERROR_MAX_STRING_SIZE)) { text in
            text.initialize(repeating: 0)
            av_strerror(code, text.baseAddress, text.count)
            return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    public var description: String { "\(operation) (\(subject)): \(message)" }
}
