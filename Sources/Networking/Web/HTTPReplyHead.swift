// SPDX-License-Identifier: Apache-2.0

/// Status line and headers of an HTTP response.
package struct HTTPReplyHead: Sendable, Equatable {
    /// The status code, such as 200.
    package let status: Int
    /// Number of bytes in the body; nil if the server does not send it.
    package let length: Int64?
    /// The address to which the server redirects, as the server wrote it; nil if the server does not send such an
    /// address.
    package let location: String?

    /// The head with this status. `field` returns the value of the first header with a name.
    init(status: Int, field: (String) -> String?) {
        self.status = status
        length = field("Content-Length").flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
        location = field("Location")
    }

    /// Whether the status is 2xx.
    package var isSuccess: Bool { (200..<300).contains(status) }
}
