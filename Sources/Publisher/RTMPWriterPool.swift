// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import Synchronization

/// The few queues on which all RTMP outputs write.
///
/// A queue per output costs a thread switch per output and picture; two queues that serve all of them without blocking
/// cost a third of a bare `send` per message (measured with 100 outputs).
public final class RTMPWriterPool: Sendable {
    private let writers: [RTMPWriter]
    private let assigned = Atomic<Int>(0)

    /// A pool of `count` writer queues.
    public init(count: Int = 2) {
        writers = (0..<max(1, count)).map { RTMPWriter(index: $0) }
    }

    /// The writer for the next connection, in turn.
    func next() -> RTMPWriter {
        let turn = assigned.wrappingAdd(1, ordering: .relaxed).oldValue
        return writers[Int(UInt(bitPattern: turn) % UInt(writers.count))]
    }
}

/// One serial queue that serves the connections assigned to it.
final class RTMPWriter: Sendable {
    /// What the connections of a writer share while they take packets from their queues, one after the other.
    struct Shared {
        var chunks = RTMPSharedChunks()
        /// The packets of one connection; kept for its memory.
        var batch: [EncodedPacket] = []
    }

    private struct State {
        var woken: [RTMPConnection] = []
        var isScheduled = false
    }

    let queue: DispatchQueue
    /// What the connections share. Only the queue locks it.
    let shared = Mutex(Shared())
    private let state = Mutex(State())

    init(index: Int) { queue = DispatchQueue(label: "relay.rtmp.writer.\(index)", qos: .userInitiated) }

    /// Serves `connection` soon. Many calls in a row become one block on the queue.
    func wake(_ connection: RTMPConnection) {
        let schedules = state.withLock { state in
            state.woken.append(connection)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if schedules { queue.async { self.serve() } }
    }

    private func serve() {
        let woken = state.withLock { state in
            state.isScheduled = false
            defer { state.woken.removeAll(keepingCapacity: true) }
            return state.woken
        }
        for connection in woken { connection.serveWake() }
    }
}
