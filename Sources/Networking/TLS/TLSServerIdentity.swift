// SPDX-License-Identifier: Apache-2.0

internal import CDispatch  // owns the C types of threads where it is loaded before Glibc
internal import Dispatch
internal import Glibc
package import Media
package import NIOCore
internal import NIOSSL
internal import Synchronization

/// The certificate and the key that a listener shows, from two PEM files, read again when these change.
///
/// The files are looked at each five seconds, on a queue of their own. A pair that cannot be used leaves the one before in
/// use, and is told. All calls may come from any thread.
package final class TLSServerIdentity: Sendable {
    /// What tells one version of the two files from another.
    private struct Version: Equatable {
        let files: [[Int]]
    }

    /// A pair that was read.
    private struct Pair {
        let context: NIOSSLContext
        /// Seconds since 1970 until which the certificate is valid.
        let expiry: Int
    }

    private struct State {
        var pair: Pair
        /// What was read, or tried without success and told.
        var version: Version
        /// What was seen and could not be used: it may be the first of two files that are replaced one after the other.
        var rejected: Version?
        var timer: (any DispatchSourceTimer)?
    }

    private static let interval = DispatchTimeInterval.seconds(5)

    private let certificate: String
    private let key: String
    private let notice: @Sendable (String) -> Void
    private let state: Mutex<State>

    /// The pair in the files `certificate` (the certificate, then those between it and the authority) and `key`. Blocks
    /// while it reads. Throws what is wrong with them: unreadable, no PEM, not a pair, expired, or a key that everybody
    /// on the machine may read. `notice` is told later about the result of each change, in one sentence.
    package init(
        certificate: String, key: String, notice: @escaping @Sendable (String) -> Void
    ) throws(OutputFailure) {
        self.certificate = certificate
        self.key = key
        self.notice = notice
        let version = Self.version(certificate, key)
        state = Mutex(State(pair: try Self.load(certificate, key), version: version))
        state.withLock { state in
            let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "relay.tls.files", qos: .utility))
            timer.setEventHandler { [weak self] in self?.look() }
            timer.schedule(deadline: .now() + Self.interval, repeating: Self.interval, leeway: .seconds(1))
            timer.activate()
            state.timer = timer
        }
    }

    deinit { state.withLock { $0.timer?.cancel() } }

    /// Puts TLS into the pipeline of a channel that was just accepted, with the pair that is in use now. On its loop.
    package func secure(_ channel: any Channel) throws {
        let context = state.withLock { $0.pair.context }
        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
    }

    /// The time until which the current certificate is valid, in seconds since 1970-01-01T00:00:00Z.
    package var expiry: Int { state.withLock { $0.pair.expiry } }

    /// What the error of a channel means, in an operator's words; nil for a peer that closed the connection without a word
    /// of TLS, as many do.
    package static func words(of error: any Error) -> String? {
        error as? NIOSSLError == .uncleanShutdown ? nil : TLSGuard.words(error)
    }

    /// Looks whether the files changed, and takes them if they can be used. Blocks while it reads.
    func look() {
        let version = Self.version(certificate, key)
        guard state.withLock({ $0.version != version }) else { return }
        do throws(OutputFailure) {
            let pair = try Self.load(certificate, key)
            state.withLock { ($0.pair, $0.version, $0.rejected) = (pair, version, nil) }
            notice("The certificate in \(certificate) has changed, and is used from now on.")
        } catch {
            let isLasting = state.withLock { state in
                guard state.rejected == version else {
                    state.rejected = version
                    return false
                }
                (state.version, state.rejected) = (version, nil)
                return true
            }
            if isLasting { notice("The new certificate cannot be used, and the one before stays: \(error.reason)") }
        }
    }

    /// Change time, size and number of each file; empty for one that is not there.
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

    private static func load(_ certificate: String, _ key: String) throws(OutputFailure) -> Pair {
        try check(certificate, isSecret: false)
        try check(key, isSecret: true)
        let chain: [NIOSSLCertificate]
        do {
            chain = try NIOSSLCertificate.fromPEMFile(certificate)
        } catch {
            throw failure("\(certificate) holds no certificate in PEM")
        }
        guard let own = chain.first else { throw failure("\(certificate) holds no certificate in PEM") }
        let now = time(nil)
        guard own.notValidAfter >= now else { throw failure("the certificate in \(certificate) has expired") }
        guard own.notValidBefore <= now else { throw failure("the certificate in \(certificate) is not valid yet") }
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
            return Pair(context: try NIOSSLContext(configuration: configuration), expiry: Int(own.notValidAfter))
        } catch {
            throw failure("the key in \(key) does not belong to the certificate in \(certificate)")
        }
    }

    /// Checks that we can read the file, and if it is secret, that only its owner and its group can.
    private static func check(_ path: String, isSecret: Bool) throws(OutputFailure) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw failure("\(path) cannot be read: \(TCPSocket.message(errno))") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw failure("\(path) cannot be read: \(TCPSocket.message(errno))")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw failure("\(path) is not a file") }
        guard !isSecret || status.st_mode & 0o007 == 0 else {
            throw failure("the key in \(path) is open to everybody on this machine: chmod 600")
        }
    }

    private static func failure(_ reason: String) -> OutputFailure {
        OutputFailure(.refused, step: "tls", reason: reason)
    }
}
