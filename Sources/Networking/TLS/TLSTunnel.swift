// SPDX-License-Identifier: Apache-2.0

internal import CLinux  // the parts of netdb.h and sys/socket.h that the Glibc module lacks
internal import Glibc
package import Media
package import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Synchronization

/// The connection to the peer behind a tunnel. The near end is the socket of the tunnel that relay's own code uses.
protocol SocketTunnel: AnyObject, Sendable {
    /// Resets the connection to the peer at once.
    func reset()
    /// The number of bytes that were read from the near end, but that the peer has not acknowledged.
    var unacknowledgedBytes: Int { get }
    /// Why the connection to the peer ended; nil while it is open, if the peer closed it, and for an accepted
    /// connection.
    var ending: String? { get }
}

/// A TLS session over a connected socket. The caller uses the near end of a socket pair. Bytes that it writes there are
/// sent encrypted, and received bytes arrive there decrypted. So librtmp and ``RTMPConnection`` need no TLS.
///
/// One thread serves all tunnels that ``open(over:host:trust:within:)`` makes; the tunnel of an accepted channel runs
/// on that channel's event loop. The buffers of a tunnel are small. Data that the peer does not accept stays in the
/// near end and, when that is full, in the output's queue. When the near end is released, the session is closed with
/// `close_notify`; ``reset()`` closes it without `close_notify`.
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

    /// Closes the channel after a delay. The close starts at the TLS handler and bypasses it, because this handler
    /// would wait for the peer's `close_notify`.
    private static func close(_ channel: any Channel, in delay: TimeAmount) {
        channel.eventLoop.scheduleTask(in: delay) {
            let pipeline = channel.pipeline.syncOperations
            let context =
                (try? pipeline.context(handlerType: NIOSSLClientHandler.self))
                ?? (try? pipeline.context(handlerType: NIOSSLServerHandler.self))
            context?.close(promise: nil)
        }
    }

    /// Opens a TLS session with `host` over `socket`, verifies the host's certificate by `trust`, and returns the near
    /// end after the handshake. Blocks for at most `timeout`, and only as long as `socket` is open.
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
    /// The size in bytes of the near end's send buffer, and of the far channel's write buffer (`waterMark`): a fraction
    /// of a second of media.
    private static let nearBytes: CInt = 64 << 10
    private static let waterMark = ChannelOptions.Types.WriteBufferWaterMark(low: 32 << 10, high: 64 << 10)

    /// Returns the near end of a tunnel for `channel`, an accepted channel whose pipeline starts with the TLS handler.
    /// From this call on, the handler that reads the channel must keep back the data that it receives. When the near
    /// end exists, that handler must remove itself, and then turn reading on again. Must be called on the channel's
    /// event loop.
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
