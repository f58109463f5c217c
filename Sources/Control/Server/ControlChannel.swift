// SPDX-License-Identifier: Apache-2.0

internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import Networking
internal import Synchronization

/// The pipeline of one client's connection: TLS if the server has a certificate, then HTTP.
struct ControlChannel: ServerChildChannel {
    typealias Value = HTTP1Channel.Value

    let base: HTTP1Channel
    /// The server's certificate; nil if it has none. A connection uses the certificate that is current when the
    /// connection begins.
    let identity: TLSServerIdentity?

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture { try identity?.secure(channel) }.flatMap {
            base.setup(channel: channel, logger: logger)
        }.map { connection in
            // A connection that arrives while the server stops is never handled. Its NIOAsyncWriter would end the
            // process if it were released before it is finished. Therefore the task below retains the writer until the
            // connection is closed, and then finishes the writer.
            channel.closeFuture.whenComplete { _ in
                Task { try? await connection.executeThenClose { _, _ in } }
            }
            return connection
        }
    }

    func handle(value: Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}

/// Access to the certificate of a running server. Any thread may use it.
final class ServedCertificate: Sendable {
    private let identity = Mutex<TLSServerIdentity?>(nil)

    /// When the certificate expires, in seconds since 1970-01-01T00:00:00Z; nil while the server has no certificate.
    var expiry: Int? { identity.withLock { $0 }?.expiry }

    func show(_ identity: TLSServerIdentity) { self.identity.withLock { $0 = identity } }
}
