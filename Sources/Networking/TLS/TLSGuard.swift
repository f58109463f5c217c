// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Media
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// Comes after the TLS handler in the pipeline. Reports the result of the handshake, and later the reason why the
/// connection ended.
final class TLSGuard: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let host: String
    /// The IP address that the certificate must contain, if the host is an IP address that must be verified.
    private let address: [UInt8]?
    private let handshake: EventLoopPromise<Void>
    private let ended: @Sendable (String) -> Void
    private var isDone = false

    /// A guard of the connection to `host`. `address` is set if the host is an IP address that must be verified; the
    /// TLS handler verifies names. `ended` is called with the reason when the connection ends after the handshake.
    init(
        host: String, address: [UInt8]?, handshake: EventLoopPromise<Void>, ended: @escaping @Sendable (String) -> Void
    ) {
        self.host = host
        self.address = address
        self.handshake = handshake
        self.ended = ended
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { completed(context) }
        context.fireUserInboundEventTriggered(event)
    }

    private func completed(_ context: ChannelHandlerContext) {
        if let address, !names(certificate(context), address) {
            complete(.failure(Self.refusal("the certificate is not valid for the address \(host)")))
            context.close(promise: nil)
        } else {
            complete(.success(()))
        }
    }

    /// Whether `address` is among the certificate's alternative names (RFC 9525, 6.4). NIOSSL would check the remote
    /// address of the connection instead, which is that of the proxy if there is one.
    private func names(_ certificate: NIOSSLCertificate?, _ address: [UInt8]) -> Bool {
        certificate?._subjectAlternativeNames().contains {
            $0.nameType == .ipAddress && Array($0.contents) == address
        } ?? false
    }

    private func certificate(_ context: ChannelHandlerContext) -> NIOSSLCertificate? {
        try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self).peerCertificate
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if isDone {
            if error as? NIOSSLError != .uncleanShutdown { ended(Self.words(error)) }
        } else {
            complete(.failure(failure(error, certificate(context))))
        }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        complete(.failure(Self.rejection("the server closed the connection")))
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        complete(.failure(Self.rejection("the connection was closed")))
    }

    private func complete(_ result: Result<Void, any Error>) {
        guard !isDone else { return }
        isDone = true
        handshake.completeWith(result)
    }
}

extension TLSGuard {
    /// Describes `error` for an operator. An invalid certificate counts as a permanent refusal.
    private func failure(_ error: any Error, _ certificate: NIOSSLCertificate?) -> OutputFailure {
        if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname {
            return Self.refusal("the certificate is not valid for the host \(host)")
        }
        let text = Self.words(error)
        guard text.contains("CERTIFICATE_VERIFY_FAILED") else { return Self.rejection(text) }
        let now = time(nil)
        if let certificate, certificate.notValidAfter < now { return Self.refusal("the certificate has expired") }
        if let certificate, certificate.notValidBefore > now {
            return Self.refusal("the certificate is not valid yet")
        }
        return Self.refusal("the certificate is of an unknown authority")
    }

    static func words(_ error: any Error) -> String {
        switch error {
        case NIOSSLError.handshakeFailed(.sslError(let stack)), BoringSSLError.sslError(let stack):
            // An entry of `stack` is "Error: 268435703 error:100000f7:SSL
            // routines:OPENSSL_internal:WRONG_VERSION_NUMBER at …", of which only the name before `at` is shown.
            let names = stack.map { error in
                let text = "\(error)"
                return text.prefix(upTo: text.firstRange(of: " at ")?.lowerBound ?? text.endIndex)
                    .split(separator: ":").last.map(String.init) ?? text
            }
            return names.joined(separator: ", ").trimmingSpaces()
        case let error as IOError: return TCPSocket.message(error.errnoCode)
        default: return "\(error)"
        }
    }

    private static func refusal(_ reason: String) -> OutputFailure {
        OutputFailure(.refused, step: "tls", reason: reason, hint: .certificate)
    }

    private static func rejection(_ reason: String) -> OutputFailure {
        OutputFailure(.rejected, step: "tls", reason: reason)
    }
}

extension String {
    fileprivate func trimmingSpaces() -> String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
