// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media
internal import RTMP
internal import Synchronization

/// One player: its queue, which gets packets from the program's stream, and its connection.
final class RTMPPlayerOutput: PacketConsumer {
    /// The player's number in the log, counted from 1.
    let number: Int
    let packets: PacketQueue
    let connection: RTMPConnection
    private let writer: RTMPWriter
    /// Kept alive as long as this object, because the player occupies one of the limited places for players.
    private let player: RTMPPlayer
    private let hasBegun = Atomic(false)

    init(number: Int, player: RTMPPlayer, packets: PacketQueue, connection: RTMPConnection, writer: RTMPWriter) {
        self.number = number
        self.player = player
        self.packets = packets
        self.connection = connection
        self.writer = writer
        // The queue must be on air before its first packet, because that may be an old keyframe.
        _ = packets.connected()
    }

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
