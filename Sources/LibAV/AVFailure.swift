// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// A failed call into libav: the operation, the object to which it was applied, and libav's message.
package struct AVFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The operation that failed, as a verb: "open", "read".
    package let operation: String
    /// The object of the operation, in a form that may be shown: callers have masked its keys and passwords.
    package let subject: String
    /// libav's error code: a negated `errno`, or one of libav's own codes.
    package let code: Int32
    /// libav's text for ``code``, or a more precise text from the caller.
    package let message: String

    /// Creates the failure of `operation` on `subject` with libav's error code `code`.
    package init(operation: String, subject: String, code: Int32) {
        self.init(operation: operation, subject: subject, code: code, message: Self.text(of: code))
    }

    /// Creates the failure of `operation` on `subject` with libav's error code `code`, which `message` explains.
    init(operation: String, subject: String, code: Int32, message: String) {
        self.operation = operation
        self.subject = subject
        self.code = code
        self.message = message
    }

    /// Creates the failure of `operation` on `subject` because the shared library `library` cannot be loaded.
    init(operation: String, subject: String, missingLibrary library: String) {
        self.init(
            operation: operation, subject: subject, code: relay_averror(ELIBACC),
            message: "\(library) is not installed, or cannot be loaded")
    }

    /// Whether a shared library could not be loaded. Every further call would fail in the same way.
    package var isMissingLibrary: Bool { code == relay_averror(ELIBACC) }
    /// Whether ``Interrupter/interrupt()`` ended the call.
    package var isInterrupted: Bool { code == relay_averror_exit }
    /// Whether the call exceeded its time limit.
    package var isTimedOut: Bool { code == relay_averror(ETIMEDOUT) }
    /// Whether libav refused an argument. libav returns the same code if the options do not allow the input's format.
    package var isInvalidArgument: Bool { code == relay_averror(EINVAL) }
    /// Whether the data is invalid. The transport still works, so the next packet may be good.
    package var isInvalidData: Bool { code == relay_averror_invalid_data }
    /// The code of ``isInvalidData``.
    static var invalidData: Int32 { relay_averror_invalid_data }
    /// Whether no data was available yet, so that the call may be repeated.
    package var isWouldBlock: Bool { code == relay_averror(EAGAIN) }

    package var description: String { "cannot \(operation) \(subject): \(message)" }

    private static func text(of code: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: Int(AV_ERROR_MAX_STRING_SIZE))
        av_strerror(code, &buffer, buffer.count)
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Throws if `code`, the result of a libav call, is an error code; otherwise returns it.
    @discardableResult
    static func check(_ code: Int32, _ operation: String, _ subject: String) throws(AVFailure) -> Int32 {
        guard code >= 0 else { throw AVFailure(operation: operation, subject: subject, code: code) }
        return code
    }

    /// Returns the result of an allocation, or throws if it failed.
    static func unwrap<T>(_ value: T?, _ operation: String, _ subject: String) throws(AVFailure) -> T {
        guard let value else { throw AVFailure(operation: operation, subject: subject, code: relay_averror(ENOMEM)) }
        return value
    }
}
