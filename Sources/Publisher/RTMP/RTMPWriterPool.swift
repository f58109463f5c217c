// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import Media
internal import Network
internal import RTMP
internal import Synchronization

/// The few queues on which all RTMP outputs write.
///
/// A queue per output costs a thread switch per output and frame. One queue that serves all of them without blocking
/// takes an eighth of a core for 400 outputs at 6 Mbit/s; a second one costs a tenth more, because the two pull the same
/// memory from each other (both measured).
public final class RTMPWriterPool: Sendable {
    private let writers: [RTMPWriter]
    private let assigned = Atomic<Int>(0)

    /// A pool of `count` writer queues.
    public init(count: Int = 1) {
        writers = (0..<max(1, count)).map { RTMPWriter(index: $0) }
    }

    /// The writer for the next connection, in turn.
    func next() -> RTMPWriter {
        let turn = assigned.wrappingAdd(1, ordering: .relaxed).oldValue
        return writers[Int(UInt(bitPattern: turn) % UInt(writers.count))]
    }
}

/// One serial queue that serves the connections assigned to it.
final class RTMPWriter: PacketServer {
    /// What the connections share while they are served, one after the other.
    struct Shared {
        var bursts = RTMPBursts()
        /// The packets of one connection; kept for its memory.
        var batch: [EncodedPacket] = []
        /// What one connection sends, if it sends all of it.
        var outbound = OutboundBuffer()
    }

    let queue: DispatchQueue
    /// Only the queue locks it.
    let shared = Mutex(Shared())
    /// On air, in the order in which they came. Only the queue locks it.
    private let connections = Mutex<[RTMPConnection]>([])
    private let isWoken = Atomic(false)
    private let sharedWatcher = Mutex<DescriptorWatcher?>(nil)

    init(index: Int) { queue = DispatchQueue(label: "relay.rtmp.writer.\(index)", qos: .userInitiated) }

    /// Watches the connections' sockets; made for the first of them. nil if the kernel gives none.
    var watcher: DescriptorWatcher? {
        sharedWatcher.withLock { watcher in
            watcher = watcher ?? DescriptorWatcher(name: "relay.rtmp.wait")
            return watcher
        }
    }

    /// Serves a connection from now on. On the queue.
    func add(_ connection: RTMPConnection) { connections.withLock { $0.append(connection) } }

    /// Forgets a connection. On the queue.
    func remove(_ connection: RTMPConnection) { connections.withLock { $0.removeAll { $0 === connection } } }

    /// Something is queued for one or more connections: serves them all soon. Any thread; the wakes of several programs
    /// become one block on the queue.
    func wake() {
        if !isWoken.exchange(true, ordering: .acquiringAndReleasing) { queue.async { self.serve() } }
    }

    private func serve() {
        // An exchange, not a store: what was queued before any wake that it takes back must be seen below.
        _ = isWoken.exchange(false, ordering: .acquiringAndReleasing)
        let now = SystemClock().now
        let connections = connections.withLock { $0 }
        shared.withLock { $0.bursts.connections = connections.count }
        for connection in connections { connection.serve(now: now) }
    }
}
