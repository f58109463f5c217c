// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import Dispatch
internal import FanOut
internal import Media
internal import NIOCore
internal import Synchronization

/// Makes fragmented MP4 from a channel's stream, once for all watching clients, and only while there are any.
///
/// Any thread may use it; all calls return at once.
final class PreviewFeed: PacketConsumer {
    /// A fragment and its number in the feed.
    struct Piece {
        let number: UInt64
        let bytes: ByteBuffer
        let beginsGOP: Bool
    }

    private struct State {
        var muxer: PreviewMuxer?
        var pieces = Deque<Piece>()
        var bytes = 0
        var next: UInt64 = 0
        var watchers = 0
    }

    /// The limit for stored fragments, in bytes: more than a GOP of some seconds needs. If a GOP is longer, its oldest
    /// fragments are dropped, and a new client waits for the next keyframe.
    private static let mostBytes = 32 << 20

    let stream: PacketStream
    private let queue = DispatchQueue(label: "relay.preview", qos: .utility)
    private let state = Mutex(State())

    /// A feed of `stream` that no client watches yet.
    init(of stream: PacketStream) { self.stream = stream }

    /// Why the stream cannot be watched, in a sentence; nil if it can be watched.
    var refusal: String? {
        let description = stream.description
        if description.tracks.isEmpty { return "Nothing is on air yet." }
        return Carriage.movie.refusal(of: description)
    }

    /// Records that a client begins to watch.
    func begin() {
        let isFirst = state.withLock { state in
            state.watchers += 1
            if state.watchers == 1 {
                (state.muxer, state.pieces, state.bytes) = (PreviewMuxer(stream.description), [], 0)
            }
            return state.watchers == 1
        }
        // A feed that joins the stream gets the packets of the current GOP at once.
        if isFirst { stream.join(self) }
    }

    /// Records that a client has stopped watching. Returns whether it was the last one.
    func end() -> Bool {
        let isLast = state.withLock { state in
            state.watchers -= 1
            if state.watchers == 0 { (state.muxer, state.pieces, state.bytes) = (nil, [], 0) }
            return state.watchers == 0
        }
        if isLast { stream.remove(self) }
        return isLast
    }

    @discardableResult
    func accept(_ packets: [EncodedPacket]) -> (any PacketServer)? {
        queue.async { [self] in take(packets) }
        return nil
    }

    private func take(_ packets: [EncodedPacket]) {
        state.withLock { state in
            for piece in state.muxer?.push(packets) ?? [] {
                if piece.beginsGOP {
                    // Only the current and the previous GOP are kept. A client that is further behind continues at the
                    // newest keyframe.
                    while let first = state.pieces.first, !first.beginsGOP || state.pieces.count > 1 && isOld(state) {
                        state.bytes -= first.bytes.readableBytes
                        state.pieces.removeFirst()
                    }
                }
                state.bytes += piece.bytes.count
                state.pieces.append(
                    Piece(number: state.next, bytes: ByteBuffer(bytes: piece.bytes), beginsGOP: piece.beginsGOP))
                state.next += 1
            }
            while state.bytes > Self.mostBytes, let first = state.pieces.first {
                state.bytes -= first.bytes.readableBytes
                state.pieces.removeFirst()
            }
        }
    }

    /// Whether fragments are stored that will be older than the previous GOP when the next GOP begins. The previous GOP
    /// is kept for clients that are only a little late.
    private func isOld(_ state: borrowing State) -> Bool { state.pieces.count { $0.beginsGOP } > 1 }

    /// The current head (`ftyp` and `moov`), and the fragments from the newest keyframe on; nil until there is a
    /// keyframe.
    var beginning: (head: ByteBuffer, pieces: [Piece])? {
        state.withLock { state in
            guard let muxer = state.muxer, let start = state.pieces.lastIndex(where: \.beginsGOP) else { return nil }
            return (ByteBuffer(bytes: muxer.head), Array(state.pieces[start...]))
        }
    }

    /// Returns the fragments after number `last`, or from the newest keyframe on if some of them are gone.
    func pieces(after last: UInt64) -> [Piece] {
        state.withLock { state in
            guard let first = state.pieces.first, let newest = state.pieces.last, newest.number > last else {
                return []
            }
            if first.number <= last + 1 { return Array(state.pieces.suffix(Int(newest.number - last))) }
            guard let start = state.pieces.lastIndex(where: \.beginsGOP) else { return [] }
            return Array(state.pieces[start...])
        }
    }
}
