// SPDX-License-Identifier: Apache-2.0

package import Dispatch
internal import FanOut
internal import Media
internal import Networking
internal import RTMP
internal import Synchronization

/// A serial queue that writes for the connections assigned to it.
final class RTMPWriter: PacketServer {
    /// Memory that the connections share, because they are served one after the other.
    struct Shared {
        var bursts = RTMPBursts()
        /// The packets of one connection; the array is reused for its memory.
        var batch: [EncodedPacket] = []
        /// The bytes of one connection, if it can send all of them.
        var outbound = OutboundBuffer()
    }

    let executor: QueueExecutor
    /// Only the queue locks it.
    let shared = Mutex(Shared())
    /// The connections on air, in order of arrival. Only the queue locks it.
    private let connections = Mutex<[RTMPConnection]>([])
    private let wakes = WakeFlag()
    private let clock: any MonotonicClock
    private let sharedWatcher = Mutex<DescriptorWatcher?>(nil)

    init(index: Int, clock: any MonotonicClock = SystemClock()) {
        executor = QueueExecutor(DispatchQueue(label: "relay.rtmp.writer.\(index)", qos: .userInitiated))
        self.clock = clock
    }

    /// Watches the connections' sockets. It is created for the first connection, and is nil if the kernel refuses it.
    var watcher: DescriptorWatcher? {
        sharedWatcher.withLock { watcher in
            watcher = watcher ?? DescriptorWatcher(name: "relay.rtmp.wait")
            return watcher
        }
    }

    /// Adds a connection, which is served from now on. Must be called on the queue.
    func add(_ connection: RTMPConnection) { connections.withLock { $0.append(connection) } }

    /// Removes a connection. Must be called on the queue.
    func remove(_ connection: RTMPConnection) { connections.withLock { $0.removeAll { $0 === connection } } }

    /// Makes all connections send soon, because packets were queued. May be called on any thread; several calls in a
    /// row add only one block to the queue.
    func wake() {
        if wakes.raise() { executor.queue.async { self.serve() } }
    }

    private func serve() {
        wakes.lower()
        let now = clock.now
        let connections = connections.withLock { $0 }
        shared.withLock { $0.bursts.connections = connections.count }
        for connection in connections { connection.assumeIsolated { $0.serve(now: now) } }
    }
}

/// The few queues on which all RTMP outputs write.
///
/// If each output had its own queue, each frame would cost a thread switch for each output. One queue that serves all
/// outputs without blocking takes an eighth of a core for 400 outputs at 6 Mbit/s; a second queue costs a tenth more,
/// because both compete for the same memory (both measured).
package final class RTMPWriterPool: Sendable {
    private let writers: [RTMPWriter]
    private let assigned = Atomic<Int>(0)

    /// A pool of `count` writer queues.
    package init(count: Int = 1) {
        writers = (0..<max(1, count)).map { RTMPWriter(index: $0) }
    }

    /// The writers' queues, which never block.
    package var queues: [DispatchQueue] { writers.map(\.executor.queue) }

    /// Returns the writer for the next connection, in rotation.
    func next() -> RTMPWriter {
        let turn = assigned.wrappingAdd(1, ordering: .relaxed).oldValue
        return writers[Int(UInt(bitPattern: turn) % UInt(writers.count))]
    }
}
