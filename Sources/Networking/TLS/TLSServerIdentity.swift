// SPDX-License-Identifier: Apache-2.0

internal import CDispatch  // must define the C thread types before Glibc does
internal import Dispatch
internal import Glibc
package import Media
package import NIOCore
internal import NIOSSL
internal import Synchronization

/// The certificate and key of a listener, from two PEM files that are read again when they change.
///
/// A private queue checks the files every five seconds. If the new files cannot be used, the old certificate and key
/// stay in use, and an error is reported. Any thread may call the methods.
package final class TLSServerIdentity: Sendable {
    /// What an operator is told of the two files.
    package struct Notice: Sendable, CustomStringConvertible {
        /// One sentence.
        package let description: String
        /// Whether a renewal failed, so that clients will be refused when the old certificate expires.
        package var isError = false
    }

    /// Identifies a version of the two files.
    private struct Version: Equatable {
        let files: [[Int]]
    }

    /// A certificate and its key.
    private struct Pair {
        let context: NIOSSLContext
        /// When the certificate expires, in seconds since 1970.
        let expiry: Int
        /// What is wrong with the pair, although it can be used.
        var weaknesses: [String] = []
    }

    private struct State {
        var pair: Pair
        /// The version that was last read, or reported as unusable.
        var version: Version
        /// A version of the two files that could not be used at the last check. It is reported if the next check finds
        /// the same version and still cannot use it: between two checks, the certificate may have been replaced but not
        /// yet its key, or the reverse.
        var rejected: Version?
        var timer: (any DispatchSourceTimer)?
    }

    private static let interval = DispatchTimeInterval.seconds(5)

    private let certificate: String
    private let key: String
    /// Whether a pair is refused if its certificate is expired or not valid yet, or if everybody may read its key.
    private let isStrict: Bool
    private let notice: @Sendable (Notice) -> Void
    private let state: Mutex<State>

    /// Reads the certificate and the key. The file `certificate` contains the certificate, then the intermediate
    /// certificates. Blocks. Throws if a file is unreadable or not PEM, or if the two do not belong together. If the
    /// certificate is expired or not valid yet, or if users outside of the key's group may access the key, it throws if
    /// `isStrict`, and otherwise uses the pair and calls `notice`. `notice` is also called after each later change, with
    /// one sentence.
    package init(
        certificate: String, key: String, isStrict: Bool = true, notice: @escaping @Sendable (Notice) -> Void
    ) throws(OutputFailure) {
        (self.certificate, self.key) = (certificate, key)
        (self.isStrict, self.notice) = (isStrict, notice)
        let version = Self.version(certificate, key)
        let pair = try Self.load(certificate, key, isStrict: isStrict)
        state = Mutex(State(pair: pair, version: version))
        for weakness in pair.weaknesses { notice(Notice(description: "\(weakness).")) }
        state.withLock { state in
            let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "relay.tls.files", qos: .utility))
            timer.setEventHandler { [weak self] in self?.look() }
            timer.schedule(deadline: .now() + Self.interval, repeating: Self.interval, leeway: .seconds(1))
            timer.activate()
            state.timer = timer
        }
    }

    deinit { state.withLock { $0.timer?.cancel() } }

    /// Adds TLS with the current certificate to the pipeline of a channel that was just accepted. Must be called on the
    /// channel's event loop.
    package func secure(_ channel: any Channel) throws {
        let context = state.withLock { $0.pair.context }
        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
    }

    /// When the current certificate expires, in seconds since 1970-01-01T00:00:00Z.
    package var expiry: Int { state.withLock { $0.pair.expiry } }

    /// Describes a channel's error for an operator. Nil if the peer ended the connection during the handshake, as port
    /// scanners do, or later without `close_notify`.
    package static func words(of error: any Error) -> String? {
        let endings: [NIOSSLError] = [.handshakeFailed(.sslError([.eofDuringHandshake])), .uncleanShutdown]
        if let error = error as? NIOSSLError, endings.contains(error) { return nil }
        return TLSGuard.words(error)
    }

    /// Whether a channel's error is that of a handshake that failed.
    package static func isHandshakeFailure(_ error: any Error) -> Bool {
        if case .handshakeFailed? = error as? NIOSSLError { true } else { false }
    }

    /// Reads the files again if they changed, and uses the new certificate and key if they are valid. Blocks while it
    /// reads.
    func look() {
        let version = Self.version(certificate, key)
        guard state.withLock({ $0.version != version }) else { return }
        do throws(OutputFailure) {
            let pair = try Self.load(certificate, key, isStrict: isStrict)
            state.withLock { ($0.pair, $0.version, $0.rejected) = (pair, version, nil) }
            notice(Notice(description: "The certificate in \(certificate) has changed, and is used from now on."))
            for weakness in pair.weaknesses { notice(Notice(description: "\(weakness).")) }
        } catch {
            let isLasting = state.withLock { state in
                guard state.rejected == version else {
                    state.rejected = version
                    return false
                }
                (state.version, state.rejected) = (version, nil)
                return true
            }
            guard isLasting else { return }
            notice(
                Notice(
                    description: "The new certificate cannot be used, and the one before stays: \(error.reason).",
                    isError: true))
        }
    }

    /// The modification time, change time, size and inode number of each file; an empty list for a missing file.
    private static func version(_ paths: String...) -> Version {
        Version(
            files: paths.map { path in
                var status = stat()
                guard stat(path, &status) == 0 else { return [] }
                return [
                    status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
                    Int(status.st_size), Int(bitPattern: UInt(status.st_ino)),
                ]
            })
    }

    private static func load(
        _ certificate: String, _ key: String, isStrict: Bool
    ) throws(OutputFailure) -> Pair {
        _ = try permissions(of: certificate)
        var weaknesses: [String] = []
        if try permissions(of: key) & 0o007 != 0 {
            weaknesses.append("the key in \(key) is open to everybody on this machine: chmod 600")
        }
        let chain: [NIOSSLCertificate]
        do {
            chain = try NIOSSLCertificate.fromPEMFile(certificate)
        } catch {
            throw failure("\(certificate) holds no certificate in PEM")
        }
        guard let own = chain.first else { throw failure("\(certificate) holds no certificate in PEM") }
        let now = time(nil)
        if own.notValidAfter < now { weaknesses.append("the certificate in \(certificate) has expired") }
        if own.notValidBefore > now { weaknesses.append("the certificate in \(certificate) is not valid yet") }
        if isStrict, let weakness = weaknesses.first { throw failure(weakness) }
        let secret: NIOSSLPrivateKey
        do {
            secret = try NIOSSLPrivateKey(file: key, format: .pem)
        } catch {
            throw failure("\(key) holds no key in PEM, or one with a passphrase")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(secret))
        configuration.minimumTLSVersion = .tlsv12
        configuration.shutdownTimeout = .seconds(2)
        do {
            return Pair(
                context: try NIOSSLContext(configuration: configuration), expiry: Int(own.notValidAfter),
                weaknesses: weaknesses)
        } catch {
            throw failure("the key in \(key) does not belong to the certificate in \(certificate)")
        }
    }

    /// Returns the mode of the file at `path`. Throws if it is not a file that can be read.
    private static func permissions(of path: String) throws(OutputFailure) -> mode_t {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure("\(path) cannot be read: \(TCPSocket.message(errno))") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw failure("\(path) cannot be read: \(TCPSocket.message(errno))")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw failure("\(path) is not a file") }
        return status.st_mode
    }

    private static func failure(_ reason: String) -> OutputFailure {
        OutputFailure(.refused, step: "tls", reason: reason)
    }
}
