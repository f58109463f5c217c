// SPDX-License-Identifier: Apache-2.0

internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOSSL

/// The pipeline of one client's connection: TLS if the server has a certificate, then HTTP.
struct ControlChannel: ServerChildChannel {
    typealias Value = HTTP1Channel.Value

    let base: HTTP1Channel
    /// A connection uses the certificate that is current when it begins; nil if the server has none.
    let files: CertificateFiles?

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let context = files?.context
        return channel.eventLoop.makeCompletedFuture {
            guard let context else { return }
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
        }.flatMap { base.setup(channel: channel, logger: logger) }.map { connection in
            // A server that stops handles no connection that arrives meanwhile. NIOAsyncWriter ends the process if it
            // is released before it is finished, so it is retained until the connection is closed, and finished then.
            channel.closeFuture.whenComplete { _ in
                Task { try? await connection.executeThenClose { _, _ in } }
            }
            return connection
        }
    }

    func handle(value: Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}
