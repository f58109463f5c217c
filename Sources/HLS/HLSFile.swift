// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media
internal import Networking

/// A file that is being written under a temporary name. It is removed unless it is published.
final class HLSFile {
    private let path: String
    private let temporary: String
    private var descriptor: CInt

    /// Begins to write a file whose final path is `path`.
    init(_ path: String) throws(OutputFailure) {
        self.path = path
        temporary = path + HLSName.temporarySuffix
        descriptor = Glibc.open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else { throw HLSDirectory.failure("write", "create", temporary, errno) }
    }

    deinit {
        guard descriptor >= 0 else { return }
        close(descriptor)
        unlink(temporary)
    }

    /// Appends `bytes`.
    func write(_ bytes: [UInt8]) throws(OutputFailure) {
        var offset = 0
        while offset < bytes.count {
            let count = bytes[offset...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            // A call that writes nothing and reports no error: without this check the loop would never end.
            guard count > 0 else { throw HLSDirectory.failure("write", "write", temporary, count < 0 ? errno : EIO) }
            offset += count
        }
    }

    /// Renames the file to its final name. A network file system may report an error of writing only when the file is
    /// closed: the file then counts as failed.
    func publish() throws(OutputFailure) {
        let status = close(descriptor)
        let code = errno
        descriptor = -1
        guard status == 0 else {
            unlink(temporary)
            throw HLSDirectory.failure("write", "close", temporary, code)
        }
        guard rename(temporary, path) == 0 else {
            let code = errno
            unlink(temporary)
            throw HLSDirectory.failure("write", "rename", temporary, code)
        }
    }
}
