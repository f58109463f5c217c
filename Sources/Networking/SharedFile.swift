// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc
package import Media

/// An unlinked temporary file whose pages the kernel sends to many sockets without copies.
///
/// `sendfile` gives a socket references to the file's pages, while `sendmsg` copies the bytes for each socket. The file
/// is append-only, so bytes that wait in a socket do not change.
package final class SharedFile: Sendable {
    /// A position in the file.
    package struct Place: Sendable {
        let file: SharedFile
        let start: Int
    }

    /// The size up to which frames share a file, because creating a file costs as much as copying the bytes for a dozen
    /// sockets.
    private static let wholeBytes = 1 << 20

    let descriptor: CInt

    /// An empty file; nil if the kernel refuses.
    package init?() {
        descriptor = memfd_create("relay-rtmp", UInt32(MFD_CLOEXEC))
        if descriptor < 0 { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Appends `bytes`. Returns their position, or nil if the file is full or the kernel has no space. One thread at a
    /// time.
    package func append(_ bytes: SharedBytes) -> Place? {
        let start = Int(lseek(descriptor, 0, SEEK_CUR))
        guard start >= 0, start < Self.wholeBytes else { return nil }
        let written = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        return written == bytes.count ? Place(file: self, start: start) : nil
    }
}
