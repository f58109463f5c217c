// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media
internal import RTMP
internal import Synchronization

/// One player: its queue, which the program's stream feeds, and its connection.
final class RTMPPlayerOutput: PacketConsumer, CountedReceiver {
    /// Its number in the log, counted from 1.
    let number: Int
    let packets: PacketQueue
    let connection: RTMPConnection
    private let writer: RTMPWriter
    /// Kept alive, because it occupies one of the limited places for players.
    private let player: RTMPPlayer
    private let hasBegun = Atomic(false)

    init(number: Int, player: RTMPPlayer, packets: PacketQueue, connection: RTMPConnection, writer: RTMPWriter) {
        self.number = number
        self.player = player
        self.packets = packets
        self.connection = connection
        self.writer = writer
        // On air before the first packet, which may be an old keyframe.
        _ = packets.connected()
    }

    var progress: AttemptProgress { connection.progress }

    /// The player's address.
    var address: String { player.address }

    func accept(_ packets: [EncodedPacket]) -> (any PacketServer)? {
        if hasBegun.exchange(true, ordering: .relaxed) {
            for packet in packets { self.packets.push(packet) }
        } else {
            self.packets.join(with: packets)
        }
        return writer
    }
}
