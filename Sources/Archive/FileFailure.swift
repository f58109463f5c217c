// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Why a file operation failed: the operation, its file, and the system's own words.
package struct FileFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The operation, such as `create` or `write`.
    package let operation: String
    /// The file or directory.
    package let path: String
    /// `errno`, or 0 when the system reported no error but something else is wrong.
    package let code: Int32
    /// The cause in words.
    package let text: String

    /// A failure reported by the system.
    package init(_ operation: String, _ path: String, code: Int32) {
        self.operation = operation
        self.path = path
        self.code = code
        self.text = Self.describe(code)
    }

    /// A failure detected by relay.
    package init(_ operation: String, _ path: String, text: String) {
        self.operation = operation
        self.path = path
        self.code = 0
        self.text = text
    }

    /// Whether more free space would help: the file system or the quota is full.
    package var isOutOfSpace: Bool { code == ENOSPC || code == EDQUOT }

    /// Whether the file has reached its maximum size: that of its file system or of the process, or a configured one.
    package var isTooLarge: Bool { code == EFBIG }

    package var description: String { "cannot \(operation) \(path): \(text)" }

    private static func describe(_ code: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
