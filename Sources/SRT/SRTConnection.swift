// SPDX-License-Identifier: Apache-2.0

internal import CSRT
internal import Media
internal import Synchronization

/// An SRT connection that receives a transport stream. It is closed when this object is released.
///
/// Only one thread at a time may read. All other calls may be made on any thread.
package final class SRTConnection: Sendable {
    private struct State {
        /// Bytes from libsrt for the reader. The first `offset` of them have been delivered already.
        var unread: [UInt8] = []
        var offset = 0
        var statistics = SRTInputStatistics()
        var lastInspection: MonotonicInstant
        var reason: String?
    }

    private static let inspection = Duration.seconds(1)

    /// The IP address of the peer.
    package let address: String
    private let socket: SRTSocket
    private let clock: any MonotonicClock
    /// The nanoseconds of the clock when data last arrived.
    private let lastReceived: Atomic<Int64>
    private let isEnded = Atomic(false)
    private let state: Mutex<State>

    /// Creates a connection for `socket`, which is connected to the peer at `address`.
    init(_ socket: SRTSocket, to address: String, clock: any MonotonicClock = SystemClock()) {
        self.socket = socket
        self.clock = clock
        self.address = address
        lastReceived = Atomic(clock.now.nanoseconds)
        state = Mutex(State(lastInspection: clock.now))
        socket.prepareToReceive()
    }

    deinit { close() }

    /// Whether the stream is encrypted.
    package var isEncrypted: Bool { socket.isDecrypting }

    /// The counters from libsrt. While the connection is being read, they are at most a second old.
    package var statistics: SRTInputStatistics { state.withLock { $0.statistics } }

    /// Returns the reason why this connection was closed in favor of another sender's connection; nil if it was not. A
    /// second call returns nil.
    func takeReason() -> String? { state.withLock { $0.reason.take() } }

    /// True if no more data can arrive.
    var isOver: Bool { isEnded.load(ordering: .acquiring) || socket.condition != .connected }

    /// Whether no data has arrived for at least `time`.
    func isSilent(for time: Duration) -> Bool {
        clock.now - MonotonicInstant(nanoseconds: lastReceived.load(ordering: .relaxed)) >= time
    }

    /// Copies the next received bytes into `buffer`. Returns the number of bytes, 0 if no data arrived within a tenth
    /// of a second, and nil at the end of the connection.
    package func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        if let count = takeUnread(into: buffer) { return count }
        if buffer.count >= SRTSocket.longestMessage { return read(into: buffer) }
        var message = [UInt8](repeating: 0, count: SRTSocket.longestMessage)
        guard let count = message.withUnsafeMutableBytes({ read(into: $0) }) else { return nil }
        state.withLock { $0.unread += message.prefix(count) }
        return takeUnread(into: buffer) ?? 0
    }

    /// Returns whether the received data is a transport stream. Returns nil if that is not known by `deadline`, if
    /// `isStopped` returns true, or if the connection ends. The reader still gets the bytes that are read here. Blocks.
    func isTransportStream(before deadline: MonotonicInstant, isStopped: () -> Bool) -> Bool? {
        var message = [UInt8](repeating: 0, count: SRTSocket.longestMessage)
        while clock.now < deadline, !isStopped() {
            guard let count = message.withUnsafeMutableBytes({ read(into: $0) }) else { return nil }
            let verdict = state.withLock { state in
                state.unread += message.prefix(count)
                return TransportStreamCheck.judge(state.unread)
            }
            if verdict != .unknown { return verdict == .transportStream }
        }
        return nil
    }

    /// Ends the connection. A read that blocks returns within a tenth of a second.
    package func close() { close(because: nil) }

    /// Ends the connection for `reason`, which ``takeReason()`` then returns.
    func close(because reason: String?) {
        guard !isEnded.exchange(true, ordering: .acquiringAndReleasing) else { return }
        inspect()
        state.withLock { state in
            state.reason = reason
            state.statistics.moment = nil
        }
        socket.close {}
    }

    private func takeUnread(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        state.withLock { state in
            let rest = state.unread[state.offset...]
            guard !rest.isEmpty else { return nil }
            let count = min(rest.count, buffer.count)
            buffer.copyBytes(from: rest.prefix(count))
            state.offset += count
            if state.offset == state.unread.count { (state.unread, state.offset) = ([], 0) }
            return count
        }
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        if isEnded.load(ordering: .acquiring) { return nil }
        defer {
            let last = state.withLock { $0.lastInspection }
            if clock.now - last >= Self.inspection { inspect() }
        }
        switch socket.receive(into: buffer) {
        case .bytes(let count):
            lastReceived.store(clock.now.nanoseconds, ordering: .relaxed)
            return count
        case .nothing: return 0
        case .ended:
            inspect()
            return nil
        }
    }

    private func inspect() {
        let now = clock.now
        let statistics = socket.receivingStatistics()
        state.withLock { state in
            state.lastInspection = now
            if let statistics { state.statistics = statistics }
        }
    }
}

/// Recognizes an MPEG transport stream by the sync bytes of its packets.
struct TransportStreamCheck {
    /// What is known about the data so far.
    enum Verdict: Equatable { case transportStream, unknown, other }

    /// The number of consecutive packets that must have a correct sync byte (ISO/IEC 13818-1, annex G.1).
    private static let packets = 5
    /// The possible distances of sync bytes, in bytes: plain packets, packets after a timestamp of four bytes (Blu-ray
    /// discs), and packets followed by a checksum of 16 bytes (DVB).
    private static let packetSizes = [188, 192, 204]
    private static let sync: UInt8 = 0x47
    /// If no transport stream is recognized in this many bytes, the data is something else. The limit is not smaller,
    /// because a sender may begin in the middle of a packet, or with some messages of another kind.
    static let limit = 16 << 10

    /// Returns what is known from `bytes`, which are the first bytes of a stream.
    static func judge(_ bytes: [UInt8]) -> Verdict {
        for size in packetSizes {
            let length = size * (packets - 1)
            var start = 0
            while start + length < bytes.count {
                if (0..<packets).allSatisfy({ bytes[start + $0 * size] == sync }) { return .transportStream }
                start += 1
            }
        }
        return bytes.count < limit ? .unknown : .other
    }
}
