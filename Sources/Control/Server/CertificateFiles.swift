// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Foundation
internal import Logging
internal import NIOCore
internal import NIOSSL
internal import Synchronization

/// Holds a certificate and its key, and reads their files again when they change. The files are checked every five
/// seconds on a separate queue, so that a disk that does not answer delays no connection. Any thread may use it.
final class CertificateFiles: Sendable {
    private struct State {
        var context: NIOSSLContext
        /// When the certificate expires, in seconds since 1970.
        var expiry: Int?
        var stamp: [String]
        var timer: (any DispatchSourceTimer)?
    }

    private static let interval = DispatchTimeInterval.seconds(5)

    private let certificate: String
    private let key: String
    private let logger: Logger
    private let state: Mutex<State>

    /// Reads both files. Throws if they cannot be used.
    init(_ pair: (certificate: String, key: String), logger: Logger) throws {
        (certificate, key) = pair
        self.logger = logger
        let stamp = Self.stamp([certificate, key])
        let (context, expiry) = try Self.load(certificate, key)
        state = Mutex(State(context: context, expiry: expiry, stamp: stamp))
        state.withLock { state in
            let timer = DispatchSource.makeTimerSource(
                queue: DispatchQueue(label: "relay.control.files", qos: .utility))
            timer.setEventHandler { [weak self] in self?.look() }
            timer.schedule(deadline: .now() + Self.interval, repeating: Self.interval, leeway: .seconds(1))
            timer.activate()
            state.timer = timer
        }
    }

    deinit { state.withLock { $0.timer?.cancel() } }

    /// The TLS context for new connections.
    var context: NIOSSLContext { state.withLock { $0.context } }

    /// When the current certificate expires, in seconds since 1970-01-01T00:00:00Z.
    var expiry: Int? { state.withLock { $0.expiry } }

    /// Reads the files again if they have changed. If they cannot be read, the previous certificate remains in use.
    /// Blocks on the disk.
    private func look() {
        let stamp = Self.stamp([certificate, key])
        guard state.withLock({ $0.stamp != stamp }) else { return }
        do {
            let (context, expiry) = try Self.load(certificate, key)
            state.withLock { ($0.context, $0.expiry, $0.stamp) = (context, expiry, stamp) }
            logger.notice("the HTTP server's certificate was read again")
        } catch {
            state.withLock { $0.stamp = stamp }
            logger.error("the HTTP server's certificate changed and cannot be read, the one before stays: \(error)")
        }
    }

    private static func load(_ certificate: String, _ key: String) throws -> (context: NIOSSLContext, expiry: Int?) {
        let chain = try NIOSSLCertificate.fromPEMFile(certificate)
        let key = try NIOSSLPrivateKey(file: key, format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        return (try NIOSSLContext(configuration: configuration), chain.first.map { Int($0.notValidAfter) })
    }

    /// Returns values that change when a file is written or replaced.
    private static func stamp(_ paths: [String]) -> [String] {
        paths.map { path in
            let attributes =
                (try? FileManager.default.attributesOfItem(
                    atPath: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)) ?? [:]
            let (file, date) = (attributes[.systemFileNumber], attributes[.modificationDate] as? Date)
            return "\(file ?? 0) \(date?.timeIntervalSince1970 ?? 0)"
        }
    }
}

/// Access to the certificate of a running server. Any thread may use it.
final class ServedCertificate: Sendable {
    private let files = Mutex<CertificateFiles?>(nil)

    /// When the certificate expires, in seconds since 1970-01-01T00:00:00Z; nil while the server has no certificate.
    var expiry: Int? { files.withLock { $0 }?.expiry }

    func show(_ files: CertificateFiles) { self.files.withLock { $0 = files } }
}
