// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import NIOCore
internal import NIOSSL
internal import Synchronization

/// The TLS settings of all outgoing connections, such as those of RTMPS outputs and HTTP requests: TLS 1.2 or 1.3, with
/// the trusted authorities.
///
/// Reading the system's authorities, more than a hundred, takes milliseconds and memory. Therefore the settings are
/// kept for a minute, and connections that begin at the same moment wait for one of them to read. So not every one of a
/// hundred outputs reads the authorities, and a file that was changed is soon read again.
final class TLSContexts: Sendable {
    /// Reads the authorities, and makes the settings for a trust and for an IP address or a name.
    typealias Make = @Sendable (TLSVerification, _ isAddress: Bool) throws(OutputFailure) -> NIOSSLContext

    private struct Key: Hashable {
        let trust: TLSVerification
        let isAddress: Bool
    }

    /// The settings of one key. The lock is held while they are made, so a slow file delays only its own connections.
    private final class Slot: Sendable {
        let made = Mutex<(context: NIOSSLContext, at: MonotonicInstant)?>(nil)
    }

    static let shared = TLSContexts()
    private static let keep = Duration.seconds(60)

    private let make: Make
    private let slots = Mutex<[Key: Slot]>([:])

    /// Creates a cache of the settings that `make` returns.
    init(
        make: @escaping Make = { (trust, isAddress) throws(OutputFailure) in
            try TLSContexts.settings(for: trust, isAddress: isAddress)
        }
    ) {
        self.make = make
    }

    /// The context for a connection to a host whose certificate is verified by `trust`. If `isAddress` is true, the
    /// host is an IP address, which ``TLSGuard`` compares with the certificate. Blocks while it reads, or while another
    /// thread reads the same.
    func context(for trust: TLSVerification, isAddress: Bool) throws(OutputFailure) -> NIOSSLContext {
        let key = Key(trust: trust, isAddress: isAddress)
        let slot = slots.withLock { slots -> Slot in
            let slot = slots[key] ?? Slot()
            slots[key] = slot
            return slot
        }
        return try slot.made.withLock { (made) throws(OutputFailure) -> NIOSSLContext in
            let now = SystemClock().now
            if let made, now - made.at < Self.keep { return made.context }
            let context = try make(trust, isAddress)
            made = (context, now)
            return context
        }
    }

    /// Reads the authorities, and makes the settings.
    static func settings(for trust: TLSVerification, isAddress: Bool) throws(OutputFailure) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.certificateVerification = isAddress ? .noHostnameVerification : .fullVerification
        configuration.shutdownTimeout = .seconds(2)
        switch trust {
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
