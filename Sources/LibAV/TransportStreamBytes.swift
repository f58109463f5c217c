// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The bytes of a live input, or of the rest of a file after a change (``FileMapWatch``). When the program map table of
/// a transport stream changes the coding of a stream, the bytes end for the current demuxer. The next demuxer continues
/// at the same position, so that no byte is lost and the connection stays open. Bytes of other formats are passed on
/// unchanged.
package final class TransportStreamBytes: ByteStream {
    private struct State {
        var watch: ProgramMapWatch
        /// Bytes for the next call of ``read(into:)``: part of a packet, or the bytes after a change.
        var rest: [UInt8] = []
        var isChanged = false
    }

    private static let packetBytes = ProgramMapWatch.packetBytes
    /// The first byte of each transport packet (2.4.3.3).
    static let syncByte: UInt8 = 0x47

    private let source: any ByteStream
    private let state: Mutex<State>

    /// Reads the bytes of `source`.
    package init(_ source: any ByteStream) {
        self.source = source
        state = Mutex(State(watch: ProgramMapWatch()))
    }

    /// Reads the bytes of a file from its beginning. They end at each map with another coding or with other PIDs.
    init(whole file: FileBytes) {
        source = file
        state = Mutex(State(watch: ProgramMapWatch(isFile: true)))
    }

    /// Reads the bytes of a file that follow a change of the coding. The next demuxer gets the packets of `tables`
    /// first.
    init(restOf file: FileBytes, behind tables: [UInt8]) {
        source = file
        state = Mutex(State(watch: ProgramMapWatch(isFile: true), rest: tables, isChanged: true))
    }

    /// Whether the bytes ended because the coding of a stream changes.
    package var isChanged: Bool { state.withLock { $0.isChanged } }

    /// Watches only the streams with these PIDs; nil watches all.
    package func follow(_ streams: Set<Int>?) { state.withLock { $0.watch.followed = streams } }

    /// Also watches the stream `pid`, unless all streams are watched.
    func follow(also pid: Int) { state.withLock { _ = $0.watch.followed?.insert(pid) } }

    /// Prepares for the next demuxer. The newest tables are the first bytes that it gets.
    package func resume() {
        state.withLock { state in
            // After a change, ``forward(_:_:)`` has already put the newest tables before the remaining bytes.
            if !state.isChanged { state.rest = state.watch.head + state.rest }
            state.isChanged = false
            state.watch.followed = nil
        }
    }

    package var failure: Int32? { isChanged ? nil : source.failure }

    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let held: (count: Int, isEnd: Bool) = state.withLock { state in
            if state.isChanged { return (0, true) }
            let count = min(state.rest.count, buffer.count)
            buffer.copyBytes(from: state.rest.prefix(count))
            state.rest.removeFirst(count)
            return (count, false)
        }
        if held.isEnd { return nil }
        // Complete packets that were kept back are passed on before the source is read again.
        if held.count >= Self.packetBytes { return forward(buffer, held.count) }
        guard held.count < buffer.count else { return held.count }
        let behind = UnsafeMutableRawBufferPointer(rebasing: buffer[held.count...])
        guard let count = source.read(into: behind) else { return held.count > 0 ? held.count : nil }
        return forward(buffer, held.count + count)
    }

    /// Checks the first `count` bytes of `buffer`, and returns how many of them the demuxer gets now. Returns nil if
    /// the coding changes at the first byte. Stores the other bytes for later calls.
    private func forward(_ buffer: UnsafeMutableRawBufferPointer, _ count: Int) -> Int? {
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
        return state.withLock { state in
            guard let first = Self.firstPacket(in: bytes) else {
                // An incomplete packet is kept until the rest of it arrives.
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
            // Bytes without a sync byte are not kept back, because libavformat finds the next packet itself.
            guard place < count, bytes[place] == Self.syncByte else { return count }
            state.rest.insert(contentsOf: bytes[place...], at: 0)
            return place
        }
    }

    /// Offset of the first packet of a transport stream; nil if the bytes do not look like a transport stream.
    private static func firstPacket(in bytes: UnsafeRawBufferPointer) -> Int? {
        (0..<min(packetBytes, max(0, bytes.count - packetBytes + 1))).first { start in
            stride(from: start, to: bytes.count, by: packetBytes).allSatisfy { bytes[$0] == syncByte }
        }
    }
}
