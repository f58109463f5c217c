// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import Media
internal import Networking

/// What connections send for a frame and the audio in front of it, headers and bodies in one piece of memory: made
/// once, for all connections of a writer that are as far as each other.
///
/// Behind its first messages a connection's chunks hold nothing that is its own. So hundreds of connections read the same
/// bytes and hold one reference each, in place of making headers of their own. A connection that lags behind must not
/// come here: it would push out what the others need.
package struct RTMPBursts {
    /// The chunks of a burst.
    struct Chunks {
        let bytes: SharedBytes
        /// Where the same bytes are in a file, if there are connections enough to be worth one.
        let place: SharedFile.Place?
    }

    private struct Burst {
        let packets: [EncodedPacket]
        /// Milliseconds from each message to the one before it of its track.
        let steps: [Int64]
        let chunks: Chunks
    }

    /// From so many connections on, a file costs less than the copies that it saves (measured).
    private static let connectionsWorthFile = 16

    /// The latest frames of several programs.
    private static let kept = 8

    private var bursts = Deque<Burst>()
    private var file: SharedFile?
    /// How many connections may come for the same chunks.
    package var connections = 0
    /// Milliseconds between the messages of the packets that are asked for; kept for its memory.
    var steps: [Int64] = []

    /// Nothing is made yet.
    package init() {}

    /// The chunks of `packets`, whose messages come `steps` after the ones before them. What is not there is made by
    /// `make`, which appends them to a buffer.
    mutating func chunks(
        of packets: [EncodedPacket], steps: [Int64], make: (inout OutboundBuffer) -> Void
    ) -> Chunks {
        // The latest is the likeliest.
        for index in bursts.indices.reversed() where bursts[index].packets.last === packets.last {
            let isSame = bursts[index].packets.elementsEqual(packets, by: ===) && bursts[index].steps == steps
            if isSame { return bursts[index].chunks }
        }
        var buffer = OutboundBuffer()
        make(&buffer)
        let bytes = buffer.joined()
        let burst = Burst(packets: packets, steps: steps, chunks: Chunks(bytes: bytes, place: place(for: bytes)))
        if bursts.count == Self.kept { bursts.removeFirst() }
        bursts.append(burst)
        return burst.chunks
    }

    private mutating func place(for bytes: SharedBytes) -> SharedFile.Place? {
        guard connections >= Self.connectionsWorthFile else {
            file = nil
            return nil
        }
        if let place = file?.append(bytes) { return place }
        file = SharedFile()
        return file?.append(bytes)
    }
}
