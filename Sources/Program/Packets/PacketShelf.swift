// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Synchronization

/// A live source's packets as they came, with times of the source's timeline, until the program comes to them. Any thread.
final class PacketShelf: Sendable {
    private struct State {
        /// In the order in which they came.
        var packets: [TrackKind: [EncodedPacket]] = [:]
        var bytes = 0
        var refusal: String?
    }

    /// What nobody takes is kept for so long, in nanoseconds: more than a GOP, so that whoever begins to take them has its
    /// keyframe; and never more than so many bytes. Both beyond what waits because the source is shown later.
    private static let (longest, mostBytes): (Int64, Int) = (12_000_000_000, 96 << 20)
    /// Bytes a second of a source that is shown later.
    private static let bytesPerSecond = 16 << 20

    private let longest: Int64
    private let mostBytes: Int
    private let state = Mutex(State())

    /// A shelf for a source that is shown `delay` after it comes.
    init(delay: Duration) {
        longest = Self.longest + delay.inNanoseconds
        mostBytes = Self.mostBytes + Int(delay.inSeconds) * Self.bytesPerSecond
    }

    /// Why there are none.
    var refusal: String? { state.withLock { $0.refusal } }

    /// The source is open. What came before stays: the program has not come to it yet.
    func begin(refusal: String?) { state.withLock { $0.refusal = refusal } }

    func put(_ packet: EncodedPacket) {
        state.withLock { state in
            state.packets[packet.track, default: []].append(packet)
            state.bytes += packet.payload.count
            for track in state.packets.keys {
                while let first = state.packets[track]?.first,
                    packet.dtsNanoseconds - first.dtsNanoseconds > longest || state.bytes > mostBytes
                {
                    state.bytes -= first.payload.count
                    state.packets[track]?.removeFirst()
                }
            }
        }
    }

    /// Takes the packets at the beginning of each track that `place` gives a place, until it gives one none.
    func take(_ place: (EncodedPacket) -> EncodedPacket?) -> [EncodedPacket] {
        state.withLock { state in
            var taken: [EncodedPacket] = []
            for track in state.packets.keys {
                var count = 0
                for packet in state.packets[track] ?? [] {
                    guard let placed = place(packet) else { break }
                    taken.append(placed)
                    count += 1
                    state.bytes -= packet.payload.count
                }
                state.packets[track]?.removeFirst(count)
            }
            return taken
        }
    }
}
