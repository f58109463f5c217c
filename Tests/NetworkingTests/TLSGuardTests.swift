// SPDX-License-Identifier: Apache-2.0

import Glibc
import Media
import NIOCore
import NIOEmbedded
import NIOSSL
import NIOTLS
import Synchronization
import Testing

@testable import Networking

@Suite struct TLSGuardTests {
    /// The reason that the guard reported for the end.
    private final class Words: Sendable {
        private let all = Mutex<[String]>([])
        func note(_ text: String) { all.withLock { $0.append(text) } }
        var told: [String] { all.withLock { $0 } }
    }

    private let words = Words()
    private let channel = EmbeddedChannel()

    /// Adds a guard to the channel. Returns the future of the handshake.
    private func guarded(address: [UInt8]? = nil) throws -> EventLoopFuture<Void> {
        let promise = channel.embeddedEventLoop.makePromise(of: Void.self)
        let guardian = TLSGuard(host: "h", address: address, handshake: promise, ended: { [words] in words.note($0) })
        try channel.pipeline.syncOperations.addHandler(guardian)
        return promise.futureResult
    }

    private func complete() {
        channel.pipeline.fireUserInboundEventTriggered(TLSUserEvent.handshakeCompleted(negotiatedProtocol: nil))
    }

    private func failure(_ handshake: EventLoopFuture<Void>) -> OutputFailure? {
        do {
            try handshake.wait()
            return nil
        } catch {
            return error as? OutputFailure
        }
    }

    @Test("A complete TLS handshake succeeds, and the reason for a later disconnect is reported")
    func success() throws {
        let handshake = try guarded()
        complete()
        try handshake.wait()
        channel.pipeline.fireErrorCaught(IOError(errnoCode: ECONNRESET, reason: "read"))
        #expect(words.told == [TCPSocket.message(ECONNRESET)])
    }

    @Test("A TLS connection that ends without close_notify does not count as an error")
    func unclean() throws {
        let handshake = try guarded()
        complete()
        try handshake.wait()
        channel.pipeline.fireErrorCaught(NIOSSLError.uncleanShutdown)
        #expect(words.told.isEmpty)
    }

    @Test("A server certificate that does not contain the IP address is a permanent failure")
    func address() throws {
        let handshake = try guarded(address: [127, 0, 0, 1])
        complete()
        let result = try #require(failure(handshake))
        #expect(result.kind == .refused && result.step == "tls")
        #expect(result.reason.contains("not valid for the address h"))
    }

    @Test("A server certificate for another host is a permanent failure")
    func host() throws {
        let handshake = try guarded()
        channel.pipeline.fireErrorCaught(NIOSSLExtraError.failedToValidateHostname)
        let result = try #require(failure(handshake))
        #expect(result.kind == .refused && result.reason.contains("not valid for the host h"))
    }

    @Test("If the server disconnects during the TLS handshake, the output may retry")
    func closed() throws {
        let handshake = try guarded()
        channel.pipeline.fireChannelInactive()
        let result = try #require(failure(handshake))
        #expect(result.kind == .rejected && result.reason == "the server closed the connection")
        #expect(words.told.isEmpty)
    }
}
