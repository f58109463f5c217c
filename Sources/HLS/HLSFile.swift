// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media
internal import Networking

/// A file that is being written under a temporary name. If ``publish()`` was not called, the file is deleted when this
/// object is released.
final class HLSFile {
    private let path: String
    private let temporary: String
    private var descriptor: CInt

    /// Creates the temporary file for a file whose final path is `path`.
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

    /// Appends `bytes` to the file.
    func write(_ bytes: [UInt8]) throws(OutputFailure) {
        var offset = 0
        while offset < bytes.count {
            let count = bytes[offset...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            // A call may write nothing and report no error. Without this check the loop would then never end.
            guard count > 0 else { throw HLSDirectory.failure("write", "write", temporary, count < 0 ? errno : EIO) }
            offset += count
        }
    }

    /// Closes the file and gives it its final name. A network file system may report a write error only when the file
    /// is closed. In that case this throws, and the file is not published.
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
