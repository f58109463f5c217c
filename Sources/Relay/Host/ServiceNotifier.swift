// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media

/// Sends messages to systemd, the service manager that started the process, by the protocol of sd_notify(3). A message
/// is one datagram with lines of `NAME=value`. The environment contains the name of the socket.
///
/// Any thread may use it; calls do not block.
struct ServiceNotifier: Sendable {
    /// A part of a message to the service manager.
    enum Word: Equatable {
        /// The service is up, or up again after ``reloading(_:)``.
        case ready
        /// The configuration is being reloaded; the reload began at this moment.
        case reloading(MonotonicInstant)
        /// The process is ending.
        case stopping
        /// One line for people.
        case status(String)
        /// The process is healthy. The service manager kills the process if it does not receive this within
        /// ``ServiceNotifier/watchdog``.
        case watchdog

        /// The line in the datagram.
        var text: String {
            switch self {
            case .ready: "READY=1"
            case .reloading(let moment): "RELOADING=1\nMONOTONIC_USEC=\(moment.nanoseconds / 1000)"
            case .stopping: "STOPPING=1"
            case .status(let line): "STATUS=" + line.map { $0.isNewline ? " " : String($0) }.joined()
            case .watchdog: "WATCHDOG=1"
            }
        }
    }

    /// How long the service manager waits for ``Word/watchdog`` before it kills the process; nil if it does not
    /// supervise the process.
    let watchdog: Duration?
    private let address: [UInt8]

    /// The environment variables by which systemd tells a service how to reach the service manager.
    private static let variables = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]

    /// Reads from `environment` how to reach the service manager; nil if the environment contains no address, or an
    /// address that is not supported. `pid` is this process: if the variables of the watchdog are meant for another
    /// process, ``watchdog`` is nil.
    init?(environment: [String: String], pid: Int32 = getpid()) {
        // Other address families, such as vsock, are for the managers of virtual machines, and are not supported.
        guard let name = environment["NOTIFY_SOCKET"], name.hasPrefix("/") || name.hasPrefix("@") else { return nil }
        var address = Array(name.utf8)
        // In the socket's address, an abstract name begins with a null byte instead of `@` (unix(7)).
        if name.hasPrefix("@") { address[0] = 0 }
        guard (2...Self.longestName).contains(address.count) else { return nil }
        self.address = address
        let isMeant = environment["WATCHDOG_PID"].map { $0 == "\(pid)" } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        watchdog = isMeant && microseconds > 0 ? .microseconds(microseconds) : nil
    }

    /// Returns the notifier of this process, and removes its variables from the environment, so that child processes
    /// cannot send messages in its name. Call it before other threads read the environment.
    static func take() -> ServiceNotifier? {
        var environment: [String: String] = [:]
        for name in variables {
            environment[name] = getenv(name).map { String(cString: $0) }
            unsetenv(name)
        }
        return ServiceNotifier(environment: environment)
    }

    /// Sends `words` as one message. Returns whether the service manager accepted the message. A busy service manager
    /// accepts none; the caller may then try again later.
    @discardableResult
    func send(_ words: Word...) -> Bool {
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: address) }
        // The length gives the end of an abstract name; a path ends with a null byte, which counts, too.
        let length = socklen_t(Self.pathOffset + address.count + (address[0] == 0 ? 0 : 1))
        let bytes = Array(words.map(\.text).joined(separator: "\n").utf8)
        let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
        let sent = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                sendto(descriptor, bytes, bytes.count, flags, generic, length)
            }
        }
        return sent == bytes.count
    }

    private static let pathOffset = MemoryLayout<sockaddr_un>.offset(of: \sockaddr_un.sun_path) ?? 2
    /// The maximum length of a socket's name, in bytes. A path needs one more byte for the null byte at its end.
    private static let longestName = MemoryLayout<sockaddr_un>.size - pathOffset - 1
}
