// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc
package import Media

/// Bytes that the kernel holds once, for however many sockets they are sent to: a file without a name.
///
/// `sendfile` gives a socket references to the file's pages, where `sendmsg` copies the bytes for each socket. Bytes are
/// only ever added, so what waits in a socket does not change.
package final class SharedFile: Sendable {
    /// Where some bytes are.
    package struct Place: Sendable {
        let file: SharedFile
        let start: Int
    }

    /// A new file costs as much as the copies for a dozen sockets, so frames share one up to this size.
    private static let wholeBytes = 1 << 20

    let descriptor: CInt

    /// An empty file; nil if the kernel gives none.
    package init?() {
        descriptor = memfd_create("relay-rtmp", UInt32(MFD_CLOEXEC))
        if descriptor < 0 { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Adds `bytes` behind the ones that are there. Returns their place, or nil if the file is whole or the kernel has no
    /// room. One thread at a time.
    package func append(_ bytes: SharedBytes) -> Place? {
        let start = Int(lseek(descriptor, 0, SEEK_CUR))
        guard start >= 0, start < Self.wholeBytes else { return nil }
        let written = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        return written == bytes.count ? Place(file: self, start: start) : nil
    }
}
