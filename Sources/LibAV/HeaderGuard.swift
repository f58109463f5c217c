// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
internal import Glibc

/// Keeps HTTP headers that an operator added, which can be secret, from all servers but that of the input's address: a
/// playlist can name segments of any server. It must outlive the demuxer that uses it.
package final class HeaderGuard {
    private let guardian: UnsafeMutablePointer<relay_header_guard>

    /// A guard of the headers for `url`.
    init(_ url: String) {
        guardian = .allocate(capacity: 1)
        guardian.initialize(to: relay_header_guard(open: nil, url: strdup(url)))
    }

    deinit {
        free(guardian.pointee.url)
        guardian.deallocate()
    }

    /// Applies to all that `context` opens from now on.
    func watch(_ context: UnsafeMutablePointer<AVFormatContext>) { relay_guard_headers(context, guardian) }

    /// Whether headers for the address `url` may be sent to the address `other`: to the same host and port, and not
    /// without TLS if the first address has it.
    package static func isSameServer(_ url: String, _ other: String) -> Bool { relay_is_same_server(url, other) }
}
