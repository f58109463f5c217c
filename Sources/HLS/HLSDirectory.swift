// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media
internal import Networking

/// The directory of one HLS output. It is locked until this object is released, so that no second output uses it. Each
/// call may block for as long as the file system does.
final class HLSDirectory {
    /// The maximum size in bytes of a playlist that relay reads.
    private static let maximumPlaylistBytes = 1 << 20

    let path: String
    private let descriptor: CInt

    /// Opens and locks the directory `path`. If it does not exist and its parent does, creates it. If the file system
    /// does not support locks, the directory is used without a lock.
    init(_ path: String) throws(OutputFailure) {
        self.path = path
        if mkdir(path, 0o755) != 0, errno != EEXIST { throw Self.failure("open", "create", path, errno) }
        descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure("open", "open", path, errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
            throw OutputFailure(.rejected, step: "open", reason: "\(path): another HLS output writes to it")
        }
        guard access(path, W_OK) == 0 else { throw Self.failure("open", "write to", path, errno) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    private func full(_ name: String) -> String { "\(path)/\(name)" }

    /// The free space in bytes for users without root privileges.
    func freeBytes() throws(OutputFailure) -> Int64 {
        var info = statvfs()
        guard fstatvfs(descriptor, &info) == 0 else { throw Self.failure("open", "measure", path, errno) }
        let (bytes, overflow) = UInt64(info.f_bavail).multipliedReportingOverflow(by: UInt64(info.f_frsize))
        return overflow ? .max : Int64(clamping: bytes)
    }

    /// The size of the file `name` in bytes; 0 if the file does not exist.
    func size(_ name: String) -> Int64 {
        var info = stat()
        return fstatat(descriptor, name, &info, AT_SYMLINK_NOFOLLOW) == 0 ? Int64(info.st_size) : 0
    }

    /// When the file `name` was last written, in seconds since 1970; 0 if the file does not exist.
    func modified(_ name: String) -> Int64 {
        var info = stat()
        return fstatat(descriptor, name, &info, AT_SYMLINK_NOFOLLOW) == 0 ? Int64(info.st_mtim.tv_sec) : 0
    }

    /// The names of all entries in the directory.
    func names() throws(OutputFailure) -> [String] {
        guard let stream = opendir(path) else { throw Self.failure("open", "list", path, errno) }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                })
        }
        return names
    }

    /// Reads the playlist; nil if it does not exist or is empty, because a power failure can leave an empty file.
    /// Throws if relay did not write the playlist. Such a playlist must not be overwritten.
    func playlist() throws(OutputFailure) -> HLSPlaylist? {
        let name = full(HLSName.playlist)
        let file = Glibc.open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        if file < 0, errno == ENOENT { return nil }
        guard file >= 0 else { throw Self.failure("open", "open", name, errno) }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: Self.maximumPlaylistBytes)
        var filled = 0
        while filled < bytes.count {
            let got = bytes[filled...].withUnsafeMutableBytes { read(file, $0.baseAddress, $0.count) }
            if got < 0 && errno == EINTR { continue }
            guard got > 0 else { break }
            filled += got
        }
        if filled == 0 { return nil }
        guard filled < bytes.count,
            let playlist = HLSPlaylist(parsing: String(decoding: bytes[..<filled], as: UTF8.self))
        else {
            throw OutputFailure(
                .rejected, step: "open",
                reason: "\(name) was made by another program; remove it or name another directory")
        }
        return playlist
    }

    /// Creates a temporary file that gets the name `name` when it is complete, and replaces an earlier file of that
    /// name.
    func create(_ name: String) throws(OutputFailure) -> HLSFile { try HLSFile(full(name)) }

    /// Writes a small file completely, and replaces an earlier file of that name.
    func write(_ bytes: [UInt8], as name: String) throws(OutputFailure) {
        let file = try create(name)
        try file.write(bytes)
        try file.publish()
    }

    /// Removes the file `name`, but only if relay makes HLS files with such names.
    func remove(_ name: String) {
        if HLSName.isOurs(name) { unlink(full(name)) }
    }

    /// Creates a failure from the error number `code`: `rejected` if an operator must solve the problem, otherwise
    /// `unreachable`. The output's retries depend on this kind.
    static func failure(_ step: String, _ operation: String, _ path: String, _ code: CInt) -> OutputFailure {
        let isForOperator = [EACCES, EPERM, EROFS, ENOTDIR, ELOOP, ENAMETOOLONG].contains(code)
        return OutputFailure(
            isForOperator ? .rejected : .unreachable, step: step,
            reason: "cannot \(operation) \(path): \(TCPSocket.message(code))")
    }
}
