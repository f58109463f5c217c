// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import Media

/// The latest messages as they go out, headers and body in one piece of memory: made once, for all connections of a
/// writer that are as far as each other.
///
/// A hundred connections then read the same bytes and hold one reference each, in place of allocating a header each. A
/// connection that lags behind must not use it: it would push out what the others need.
struct RTMPSharedChunks {
    private struct Entry {
        let payload: SharedBytes
        let step: Int64
        let chunks: SharedBytes
    }

    /// A picture with its sound, for several programs at a time.
    private static let kept = 24

    private var entries = Deque<Entry>()

    /// The chunks of `message` on a connection whose last message of its track was at `previous`. What is not there
    /// is made by `make`, which appends them to a buffer.
    mutating func bytes(
        of message: RTMPMessage, after previous: Int64, make: (inout OutboundBuffer) -> Void
    ) -> SharedBytes {
        let step = message.timestamp - previous
        // The latest are the likeliest.
        for index in entries.indices.reversed()
        where entries[index].payload === message.payload && entries[index].step == step {
            return entries[index].chunks
        }
        var buffer = OutboundBuffer()
        make(&buffer)
        let entry = Entry(payload: message.payload, step: step, chunks: buffer.joined())
        if entries.count == Self.kept { entries.removeFirst() }
        entries.append(entry)
        return entry.chunks
    }
}
