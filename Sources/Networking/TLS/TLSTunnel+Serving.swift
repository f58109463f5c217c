// SPDX-License-Identifier: Apache-2.0

internal import CLinux  // netdb.h and sys/socket.h: the Glibc module lacks parts of them
internal import Glibc
package import NIOCore
internal import NIOPosix
internal import Synchronization

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
