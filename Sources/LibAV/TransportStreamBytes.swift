// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The bytes of a live input. Where a transport stream's map gives one of its streams another coding they end for the
/// demuxer that reads them, and the next demuxer continues at that place: nothing is lost, and the sender's
/// connection stays open. What is no transport stream passes as it is.
package final class TransportStreamBytes: ByteStream {
    private struct State {
        var watch = ProgramMapWatch()
        /// What was read and is for the next call: a part of a packet, or what follows a change.
        var rest: [UInt8] = []
        var isChanged = false
    }

    private static let packetBytes = ProgramMapWatch.packetBytes
    private static let syncByte: UInt8 = 0x47

    private let source: any ByteStream
    private let state = Mutex(State())

    /// The bytes that `source` gives.
    package init(_ source: any ByteStream) { self.source = source }

    /// Whether the bytes ended because a stream is coded in another way from here on.
    package var isChanged: Bool { state.withLock { $0.isChanged } }

    /// Takes notice of the streams with these PIDs only; nil for all.
    package func follow(_ streams: Set<Int>?) { state.withLock { $0.watch.followed = streams } }

    /// Makes ready for another demuxer, which gets the newest tables first.
    package func resume() {
        state.withLock { state in
            // At a change the new map is in front of what follows.
            if !state.isChanged { state.rest = state.watch.head + state.rest }
            state.isChanged = false
            state.watch.followed = nil
        }
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let held: (count: Int, isEnd: Bool) = state.withLock { state in
            if state.isChanged { return (0, true) }
            let count = min(state.rest.count, buffer.count)
            buffer.copyBytes(from: state.rest.prefix(count))
            state.rest.removeFirst(count)
            return (count, false)
        }
        if held.isEnd { return nil }
        // Whole packets that were held back come before anything else is waited for.
        if held.count >= Self.packetBytes { return forward(buffer, held.count) }
        guard held.count < buffer.count else { return held.count }
        let behind = UnsafeMutableRawBufferPointer(rebasing: buffer[held.count...])
        guard let count = source.read(into: behind) else { return held.count > 0 ? held.count : nil }
        return forward(buffer, held.count + count)
    }

    /// Looks at the first `count` bytes of `buffer`. Returns how many of them the demuxer gets now; nil at a change that
    /// comes first. The others are kept.
    private func forward(_ buffer: UnsafeMutableRawBufferPointer, _ count: Int) -> Int? {
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
        return state.withLock { state in
            guard let first = Self.firstPacket(in: bytes) else {
                // A part of a packet waits for the rest of it.
                guard count < Self.packetBytes, bytes.first == Self.syncByte else { return count }
                state.rest.insert(contentsOf: bytes, at: 0)
                return 0
            }
            var place = first
            while place + Self.packetBytes <= count, bytes[place] == Self.syncByte {
                if state.watch.read(UnsafeRawBufferPointer(rebasing: bytes[place..<place + Self.packetBytes])) {
                    let behind = bytes[(place + Self.packetBytes)...]
                    state.rest.insert(contentsOf: state.watch.head + behind, at: 0)
                    state.isChanged = true
                    return place > 0 ? place : nil
                }
                place += Self.packetBytes
            }
            // Bytes out of step are not held: libavformat finds the next packet.
            guard place < count, bytes[place] == Self.syncByte else { return count }
            state.rest.insert(contentsOf: bytes[place...], at: 0)
            return place
        }
    }

    /// Where the first packet of a transport stream begins; nil if none is seen.
    private static func firstPacket(in bytes: UnsafeRawBufferPointer) -> Int? {
        (0..<min(packetBytes, max(0, bytes.count - packetBytes + 1))).first { start in
            stride(from: start, to: bytes.count, by: packetBytes).allSatisfy { bytes[$0] == syncByte }
        }
    }
}
