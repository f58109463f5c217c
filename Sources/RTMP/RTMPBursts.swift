// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import Media
internal import Networking

/// Lets connections share the chunks of a frame and of the audio before it. The headers and bodies are in one piece of
/// memory. This memory is created once for all connections of an `RTMPWriter` that need the same packets with the same
/// time differences.
///
/// After the first messages, the chunks contain nothing that is specific to a connection. So hundreds of connections
/// send the same bytes, and hold one reference each instead of making their own headers. A connection that is behind
/// must not use this type, because it would evict chunks that the other connections need.
package struct RTMPBursts {
    /// The chunks of a burst.
    struct Chunks {
        let bytes: SharedBytes
        /// The position of these chunks in a file, whose bytes the kernel sends without a copy; nil if there are too
        /// few connections for a file, or if the file cannot be written.
        let place: SharedFile.Place?
    }

    private struct Burst {
        let packets: [EncodedPacket]
        /// For each message, the milliseconds since the previous message of the same track.
        let steps: [Int64]
        let chunks: Chunks
    }

    /// With at least this number of connections, a file costs less than the copies that it saves (measured).
    private static let connectionsWorthFile = 16

    /// Number of bursts kept: the latest frames of several programs.
    private static let kept = 8

    private var bursts = Deque<Burst>()
    private var file: SharedFile?
    /// Number of connections that can request the same chunks.
    package var connections = 0
    /// For each requested packet, the milliseconds since the previous message of the same track. The array is a
    /// property only so that its memory is reused.
    var steps: [Int64] = []

    /// Creates an instance without bursts.
    package init() {}

    /// Returns the chunks of `packets`. `steps` contains, for each packet, the milliseconds since the previous message
    /// of the same track. If the chunks do not exist yet, `make` is called to append them to a buffer.
    mutating func chunks(of packets: [EncodedPacket], steps: [Int64], make: (inout OutboundBuffer) -> Void) -> Chunks {
        // The search begins with the latest burst, which is the most likely match.
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
