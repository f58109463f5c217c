// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The bytes of a file from one position on. Only one thread may use it at a time.
final class FileBytes: ByteStream {
    private let descriptor: CInt

    /// Opens the file at `path`, to read it from `offset` on; nil if it cannot be opened.
    init?(_ path: String, from offset: Int64) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0, lseek(descriptor, off_t(offset), SEEK_SET) >= 0 else { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count > 0 { return count }
            guard count < 0, errno == EINTR else { return nil }
        }
    }

    /// The next `count` bytes, or fewer at the end of the file.
    func bytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: max(0, count))
        var filled = 0
        bytes.withUnsafeMutableBytes { all in
            while filled < all.count, let count = read(into: UnsafeMutableRawBufferPointer(rebasing: all[filled...])) {
                filled += count
            }
        }
        return Array(bytes.prefix(filled))
    }
}
