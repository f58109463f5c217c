// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc
internal import Synchronization

/// The server's Unix socket. If another process already answers at the path, that process keeps the path.
///
/// The socket is created in a private directory, which only this user may enter. It gets its access mode there, and
/// after that its final path. So users without permission can never open it. Any thread may use it.
final class ControlSocket: Sendable {
    /// The identity of a file, which does not depend on the file's name.
    private struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64

        /// The identity of the file at `path`; nil if there is no such file.
        init?(_ path: String) {
            guard let status = FileStatus(ofLink: path) else { return nil }
            (device, inode) = (status.device, status.inode)
        }
    }

    /// The access mode of the socket: its owner and its group may connect.
    private static let mode: mode_t = 0o660

    let path: String
    /// The private directory in which the socket is created.
    private let directory: String
    private let own = Mutex<Identity?>(nil)

    /// Prepares a socket for `path`, and removes the socket file that a killed process has left. Throws if another
    /// process answers at `path`, or if no socket can be created there.
    init(_ path: String) throws(ControlServer.Failure) {
        self.path = path
        try Self.removeAbandoned(path)
        let parent = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        // The private directory has a short name, because the path of a socket may have at most 107 bytes (unix(7)).
        var template = Array("\(parent).XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Self.failure(path, Self.reason(errno)) }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { removeDirectory() }

    /// The path at which the server must bind the socket.
    var bindPath: String { "\(directory)/s" }

    /// Sets the access mode of the bound socket, and gives it its final path. Throws if another process has taken that
    /// path in the meantime.
    func publish() throws(ControlServer.Failure) {
        defer { removeDirectory() }
        guard chmod(bindPath, Self.mode) == 0, let identity = Identity(bindPath), link(bindPath, path) == 0 else {
            throw errno == EEXIST ? Self.inUse(path) : Self.failure(path, Self.reason(errno))
        }
        own.withLock { $0 = identity }
    }

    /// Removes the socket file, unless another process has replaced it.
    func remove() {
        guard let identity = own.withLock({ $0.take() }), Identity(path) == identity else { return }
        unlink(path)
    }

    private func removeDirectory() {
        unlink(bindPath)
        rmdir(directory)
    }

    private static func removeAbandoned(_ path: String) throws(ControlServer.Failure) {
        guard let found = Identity(path) else { return }
        switch connect(to: path) {
        // EAGAIN and EINPROGRESS also mean that a process listens: its queue of connections is full.
        case 0, EAGAIN, EINPROGRESS: throw inUse(path)
        case ENOENT: return
        case ECONNREFUSED where FileStatus(ofLink: path)?.kind == .socket:
            // The identity of the abandoned socket is compared again before the socket is removed, because another
            // process may have replaced it in the meantime.
            guard Identity(path) == found else { throw inUse(path) }
            guard unlink(path) == 0 || errno == ENOENT else { throw failure(path, reason(errno)) }
        case ECONNREFUSED: throw failure(path, "there is a file that is no socket")
        case let code: throw failure(path, reason(code))
        }
    }

    /// Connects to the socket at `path`, and closes the connection. Returns 0 or the error code. Does not block.
    private static func connect(to path: String) -> CInt {
        let descriptor = socket(
            AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(path.utf8)
        guard name.count < MemoryLayout.size(ofValue: address.sun_path) else { return ENAMETOOLONG }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                Glibc.connect(descriptor, generic, length) == 0 ? 0 : errno
            }
        }
    }

    private static func inUse(_ path: String) -> ControlServer.Failure {
        var failure = failure(
            path, "another process answers there; name another path with --http-socket or http.socket")
        failure.isInUse = true
        return failure
    }

    private static func reason(_ code: CInt) -> String { String(cString: strerror(code)) }

    private static func failure(_ path: String, _ reason: String) -> ControlServer.Failure {
        ControlServer.Failure(description: "The HTTP server cannot listen at \(path): \(reason).")
    }
}
