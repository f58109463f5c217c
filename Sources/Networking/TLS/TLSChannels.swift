// SPDX-License-Identifier: Apache-2.0

internal import CLinux  // the parts of netdb.h and sys/socket.h that the Glibc module lacks
internal import Glibc
internal import Media
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

/// Creates the two channels of a ``TLSTunnel`` and connects them to each other. The network channel carries TLS to the
/// server; the far channel is the other end of the socket pair whose near end the caller uses.
struct TLSChannels: Sendable {
    /// Buffer size of the near socket and of each channel, in bytes: a fraction of a second of media.
    private static let nearBytes: CInt = 64 << 10
    private static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 32 << 10, high: 64 << 10)
    private static let readBytes = 32 << 10

    let host: String
    let trust: TLSVerification
    /// Succeeds when the server's identity is verified.
    let handshake: EventLoopPromise<Void>
    /// Called with the reason when the connection ends after the handshake.
    let ended: @Sendable (String) -> Void
    /// Called with each change of the number of bytes that were read from the near end, but that the kernel has not
    /// accepted for the network yet.
    let buffered: @Sendable (Int) -> Void

    /// Starts the handshake over a duplicate of `socket`'s descriptor. Returns the near end's descriptor, which the
    /// caller must close, and the network channel. If the function throws, ``handshake`` has failed, too. Blocks
    /// briefly.
    func connect(over socket: TCPSocket, on loop: any EventLoop) throws -> (CInt, any Channel) {
        do {
            let context = try TLSContexts.shared.context(
                for: trust, isAddress: HostAddress(literal: host, port: 0) != nil)
            var ends: [CInt] = [-1, -1]
            let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
            guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw exhausted }
            let (near, far) = (ends[0], ends[1])
            var size = Self.nearBytes
            setsockopt(near, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size))
            let copy = fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else {
                let failure = exhausted
                for end in ends { close(end) }
                throw failure
            }
            do {
                return (near, try loop.flatSubmit { assemble(copy, far, context, on: loop) }.wait())
            } catch {
                close(near)
                throw error
            }
        } catch {
            handshake.fail(error)
            throw error
        }
    }

    private var exhausted: OutputFailure {
        OutputFailure(.unreachable, step: "tls", reason: "no descriptor for TLS: \(TCPSocket.message(errno))")
    }

    /// Creates the channels. From this call on, they own the descriptors.
    private func assemble(
        _ network: CInt, _ far: CInt, _ context: NIOSSLContext, on loop: any EventLoop
    ) -> EventLoopFuture<any Channel> {
        let network = bootstrap(on: loop).withConnectedSocket(network)
        let far = bootstrap(on: loop).channelOption(.allowRemoteHalfClosure, value: true).withConnectedSocket(far)
        for (one, other) in [(network, far), (far, network)] {
            one.whenFailure { _ in other.whenSuccess { $0.close(promise: nil) } }
        }
        return network.and(far).flatMapThrowing { network, far in
            do {
                try glue(network, far, context)
                return network
            } catch {
                network.close(promise: nil)
                far.close(promise: nil)
                throw error
            }
        }
    }

    /// A bootstrap for channels that do not read automatically. Reading starts when the handlers of both channels are
    /// in place.
    private func bootstrap(on loop: any EventLoop) -> ClientBootstrap {
        ClientBootstrap(group: loop)
            .channelOption(.autoRead, value: false)
            .channelOption(.writeBufferWaterMark, value: Self.waterMark)
            .channelOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.readBytes))
    }

    private func glue(_ network: any Channel, _ far: any Channel, _ context: NIOSSLContext) throws {
        let address = HostAddress(literal: host, port: 0)?.networkBytes
        // An IP address is not sent in the server name extension, which does not allow IP addresses (RFC 6066, 3).
        let tls = try NIOSSLClientHandler(context: context, serverHostname: address == nil ? host : nil)
        let verified = trust == .insecure ? nil : address
        let guardian = TLSGuard(host: host, address: verified, handshake: handshake, ended: ended)
        let (outer, inner) = (GlueHandler(), GlueHandler(count: buffered))
        GlueHandler.connect(outer, inner)
        try far.pipeline.syncOperations.addHandler(inner)
        try network.pipeline.syncOperations.addHandlers([tls, guardian, outer])
        try far.syncOptions?.setOption(.autoRead, value: true)
        try network.syncOptions?.setOption(.autoRead, value: true)
    }
}
