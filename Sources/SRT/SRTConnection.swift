// SPDX-License-Identifier: Apache-2.0

internal import CSRT
internal import Media
internal import Synchronization

/// A connection on which a transport stream comes. It is closed when it is not held any more.
///
/// One thread at a time reads; all else may be called on any thread.
package final class SRTConnection: Sendable {
    private struct State {
        /// What was read and not taken yet.
        var unread: [UInt8] = []
        var offset = 0
        var statistics = SRTInputStatistics()
        var lastInspection: Int64
        var reason: String?
    }

    private static let inspection = Duration.seconds(1).inNanoseconds

    /// The peer's IP address.
    package let address: String
    private let socket: SRTSocket
    private let clock: any MonotonicClock
    private let lastReceived: Atomic<Int64>
    private let isEnded = Atomic(false)
    private let state: Mutex<State>

    /// A connection on `socket`, which is connected, to the peer at `address`.
    init(_ socket: SRTSocket, to address: String, clock: any MonotonicClock = SystemClock()) {
        self.socket = socket
        self.clock = clock
        self.address = address
        lastReceived = Atomic(clock.now)
        state = Mutex(State(lastInspection: clock.now))
        socket.prepareToReceive()
    }

    deinit { close() }

    /// Whether the stream is encrypted.
    package var isEncrypted: Bool { socket.isDecrypting }

    /// What the library counts, as of a second ago at most while somebody reads.
    package var statistics: SRTInputStatistics { state.withLock { $0.statistics } }

    /// Why the connection was closed in favour of another, once.
    func takeReason() -> String? { state.withLock { $0.reason.take() } }

    /// Whether nothing will come any more.
    var isOver: Bool { isEnded.load(ordering: .acquiring) || socket.condition != .connected }

    /// Whether nothing came for `time`.
    func isSilent(for time: Duration) -> Bool {
        clock.now - lastReceived.load(ordering: .relaxed) >= time.inNanoseconds
    }

    /// Copies what came next into `buffer`. Returns how many bytes, 0 if nothing came within a tenth of a second, and nil if
    /// nothing will come any more.
    package func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        if let count = takeUnread(into: buffer) { return count }
        if buffer.count >= SRTSocket.longestMessage { return read(into: buffer) }
        var message = [UInt8](repeating: 0, count: SRTSocket.longestMessage)
        guard let count = message.withUnsafeMutableBytes({ read(into: $0) }) else { return nil }
        state.withLock { $0.unread += message.prefix(count) }
        return takeUnread(into: buffer) ?? 0
    }

    /// Finds out whether a transport stream comes; nil if that is not known by the `deadline`, or when `isStopped`. What was
    /// read is still there to be received. Blocks.
    func isTransportStream(before deadline: Int64, isStopped: () -> Bool) -> Bool? {
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

    /// Ends the connection; a read that waits returns within a tenth of a second.
    package func close() { close(because: nil) }

    /// The same, for a reason that ``takeReason()`` says.
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
            lastReceived.store(clock.now, ordering: .relaxed)
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
