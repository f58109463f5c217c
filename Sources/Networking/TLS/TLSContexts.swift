// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import NIOCore
internal import NIOSSL
internal import Synchronization

/// The TLS settings of all outgoing connections, such as those of RTMPS outputs and HTTP requests: TLS 1.2 or 1.3, with
/// the trusted authorities.
///
/// Reading the system's authorities, more than a hundred, takes milliseconds. Therefore the settings are cached for a
/// minute. So not every one of a hundred outputs reads the authorities, and a file that was changed is soon read again.
final class TLSContexts: Sendable {
    private struct Key: Hashable {
        let trust: TLSVerification
        let isAddress: Bool
    }

    static let shared = TLSContexts()
    private static let keepNanoseconds: Int64 = 60_000_000_000

    private let made = Mutex<[Key: (context: NIOSSLContext, at: Int64)]>([:])

    /// The context for a connection to a host whose certificate is verified by `trust`. If `isAddress` is true, the
    /// host is an IP address, which ``TLSGuard`` compares with the certificate. Blocks while it reads.
    func context(for trust: TLSVerification, isAddress: Bool) throws(OutputFailure) -> NIOSSLContext {
        let key = Key(trust: trust, isAddress: isAddress)
        let now = SystemClock().now
        let kept = made.withLock { made in
            made = made.filter { now - $0.value.at < Self.keepNanoseconds }
            return made[key]?.context
        }
        if let kept { return kept }
        let context = try Self.make(key)
        made.withLock { $0[key] = (context, now) }
        return context
    }

    private static func make(_ key: Key) throws(OutputFailure) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.certificateVerification = key.isAddress ? .noHostnameVerification : .fullVerification
        configuration.shutdownTimeout = .seconds(2)
        switch key.trust {
        case .system: configuration.trustRoots = .default
        case .authority(let file):
            configuration.trustRoots = .certificates(try authorities(in: file))
        case .insecure: configuration.certificateVerification = .none
        }
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw OutputFailure(
                .refused, step: "tls", reason: "the system's authorities cannot be read: \(TLSGuard.words(error))")
        }
    }

    private static func authorities(in file: String) throws(OutputFailure) -> [NIOSSLCertificate] {
        // The error of the library is not shown to the operator, because its text only refers to the library's source
        // code.
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(file), !certificates.isEmpty else {
            throw OutputFailure(.refused, step: "tls", reason: "\(file) cannot be read, or holds no certificate in PEM")
        }
        return certificates
    }
}

/// Determines which server certificates are accepted.
package enum TLSVerification: Sendable, Hashable {
    /// Certificates of the authorities that the system trusts.
    case system
    /// Certificates of the authorities in this PEM file, and no others.
    case authority(file: String)
    /// Any certificate: the connection is encrypted, but the identity of the server is not known.
    case insecure
}
