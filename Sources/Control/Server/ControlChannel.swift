// SPDX-License-Identifier: Apache-2.0

internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOSSL

/// The pipeline of one client's connection: TLS if the server has a certificate, then HTTP.
struct ControlChannel: ServerChildChannel {
    typealias Value = HTTP1Channel.Value

    let base: HTTP1Channel
    /// The files of the server's certificate; nil if it has none. A connection uses the certificate that is current
    /// when the connection begins.
    let files: CertificateFiles?

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let context = files?.context
        return channel.eventLoop.makeCompletedFuture {
            guard let context else { return }
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
        }.flatMap { base.setup(channel: channel, logger: logger) }.map { connection in
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
