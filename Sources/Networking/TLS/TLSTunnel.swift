// SPDX-License-Identifier: Apache-2.0

internal import CLinux  // netdb.h and sys/socket.h: the Glibc module lacks parts of them
internal import Glibc
package import Media
package import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Synchronization

/// The real connection behind a socket that is only the near end of a tunnel.
protocol SocketTunnel: AnyObject, Sendable {
    /// Resets the real connection at once.
    func reset()
    /// Bytes read from the near socket that the peer has not acknowledged.
    var unacknowledgedBytes: Int { get }
    /// Why the real connection ended; nil if it was closed regularly.
    var ending: String? { get }
}

/// A TLS session over a connected socket. Bytes written to the near end of a socket pair are sent encrypted, and
/// received bytes arrive there decrypted; so librtmp and ``RTMPConnection`` need no TLS.
///
/// One thread serves all tunnels. Its buffers are small: data that a peer does not accept stays in the near socket,
/// then in the output's queue. Releasing the near end closes the session with `close_notify`; ``reset()`` closes it
/// without.
package final class TLSTunnel: SocketTunnel {
    private final class Tally: Sendable {
        let buffered = Atomic<Int>(0)
        let ending = Mutex<String?>(nil)
    }

    private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    /// How long the teardown of a session may take.
    private static let teardownTimeout = TimeAmount.seconds(2)

    private let network: TCPSocket
    private let channel: any Channel
    private let tally: Tally

    private init(network: TCPSocket, channel: any Channel, tally: Tally) {
        self.network = network
        self.channel = channel
        self.tally = tally
    }

    deinit { Self.close(channel, in: Self.teardownTimeout) }

    var unacknowledgedBytes: Int { tally.buffered.load(ordering: .relaxed) + network.unacknowledgedBytes }
    var ending: String? { tally.ending.withLock { $0 } }

    func reset() {
        network.resetOnClose()
        Self.close(channel, in: .zero)
    }

    /// Closes the channel itself after a delay, because the TLS handler would wait for the peer's `close_notify`.
    private static func close(_ channel: any Channel, in delay: TimeAmount) {
        channel.eventLoop.scheduleTask(in: delay) {
            let pipeline = channel.pipeline.syncOperations
            let context =
                (try? pipeline.context(handlerType: NIOSSLClientHandler.self))
                ?? (try? pipeline.context(handlerType: NIOSSLServerHandler.self))
            context?.close(promise: nil)
        }
    }

    /// Opens a session with `host` over `socket`, verifies the host by `trust`, and returns the near end after the
    /// handshake. Blocks, at most for `timeout`, and no longer than `socket` is open.
    package static func open(
        over socket: TCPSocket, host: String, trust: TLSVerification, within timeout: Duration
    ) throws(OutputFailure) -> TCPSocket {
        let tally = Tally()
        let loop = group.next()
        let session = TLSChannels(host: host, trust: trust, handshake: loop.makePromise(of: Void.self)) { text in
            tally.ending.withLock { $0 = $0 ?? text }
        } buffered: { bytes in
            tally.buffered.add(bytes, ordering: .relaxed)
        }
        let deadline = loop.scheduleTask(in: .nanoseconds(timeout.inNanoseconds)) {
            session.handshake.fail(
                failure(.unreachable, "the handshake was not over within \(timeout.inMilliseconds) ms"))
        }
        defer { deadline.cancel() }
        do {
            let (near, channel) = try session.connect(over: socket, on: loop)
            let tunnel = TLSTunnel(network: socket, channel: channel, tally: tally)
            let end = TCPSocket(owning: near, tunnel: tunnel)
            do {
                try session.handshake.futureResult.wait()
            } catch {
                tunnel.reset()
                throw error
            }
            return end
        } catch let error as OutputFailure {
            throw failure(error.kind, "\(host): \(error.reason)", error.hint)
        } catch {
            throw failure(.unreachable, "\(host): \(error)")
        }
    }

    private static func failure(
        _ kind: OutputFailure.Kind, _ reason: String, _ hint: OutputFailure.Hint? = nil
    ) -> OutputFailure {
        OutputFailure(kind, step: "tls", reason: reason, hint: hint)
    }
}

extension TLSTunnel {
    /// Buffer size of the near socket and of the far one, in bytes: a fraction of a second of media.
    private static let nearBytes: CInt = 64 << 10
    private static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 32 << 10, high: 64 << 10)

    /// Returns the near end for the session of `channel`, an accepted channel whose pipeline starts with the TLS
    /// handler. The channel's reading handler must keep its data back, remove itself, then turn reading on again. Runs
    /// on the channel's loop.
    package static func socket(of channel: any Channel) -> EventLoopFuture<TCPSocket> {
        let loop = channel.eventLoop
        do {
            let network = try TCPSocket(copyOf: channel)
            var ends: [CInt] = [-1, -1]
            let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
            guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw TCPSocket.exhausted() }
            let tally = Tally()
            let tunnel = TLSTunnel(network: network, channel: channel, tally: tally)
            let near = TCPSocket(owning: ends[0], tunnel: tunnel)
            near.setOption(SOL_SOCKET, SO_SNDBUF, nearBytes)
            return ClientBootstrap(group: loop)
                .channelOption(.autoRead, value: false)
                .channelOption(.allowRemoteHalfClosure, value: true)
                .channelOption(.writeBufferWaterMark, value: waterMark)
                .withConnectedSocket(ends[1])
                .flatMapThrowing { far in
                    let (outer, inner) = (GlueHandler(), GlueHandler { tally.buffered.add($0, ordering: .relaxed) })
                    GlueHandler.connect(outer, inner)
                    try far.pipeline.syncOperations.addHandler(inner)
                    try channel.pipeline.syncOperations.addHandler(outer)
                    try far.syncOptions?.setOption(.autoRead, value: true)
                    return near
                }
        } catch {
            return loop.makeFailedFuture(error)
        }
    }
}
