// SPDX-License-Identifier: Apache-2.0

package import Dispatch
internal import FanOut
internal import Media
internal import Networking
internal import RTMP
internal import Synchronization

/// A serial queue that writes to the sockets of the RTMP connections assigned to it.
final class RTMPWriter: PacketServer {
    /// Memory that the connections of one writer use in turn.
    struct Shared {
        var bursts = RTMPBursts()
        /// The packets that one connection sends next. The array is kept to reuse its memory.
        var batch: [EncodedPacket] = []
        /// The bytes of one connection, if that connection can send all of them at once.
        var outbound = OutboundBuffer()
    }

    /// The maximum number of connections that the publishing thread serves itself. For so few connections a thread
    /// switch costs more than the sending. Sending never blocks.
    private static let mostServedAtOnce = 2

    let executor: QueueExecutor
    /// Only code on the writer's queue locks this value.
    let shared = Mutex(Shared())
    /// The connections that are on air, oldest first. Only code on the writer's queue changes this value.
    private let connections = Mutex<[RTMPConnection]>([])
    private let wakes = WakeFlag()
    private let clock: any MonotonicClock
    private let sharedWatcher = Mutex<DescriptorWatcher?>(nil)

    init(index: Int, clock: any MonotonicClock = SystemClock()) {
        executor = QueueExecutor(DispatchQueue(label: "relay.rtmp.writer.\(index)", qos: .userInitiated))
        self.clock = clock
    }

    /// Watches the connections' sockets. It is created for the first connection; nil if the kernel refuses to create
    /// it.
    var watcher: DescriptorWatcher? {
        sharedWatcher.withLock { watcher in
            watcher = watcher ?? DescriptorWatcher(name: "relay.rtmp.wait")
            return watcher
        }
    }

    /// Adds a connection, which sends packets from now on. Must be called on the writer's queue.
    func add(_ connection: RTMPConnection) { connections.withLock { $0.append(connection) } }

    /// Removes a connection. Must be called on the writer's queue.
    func remove(_ connection: RTMPConnection) { connections.withLock { $0.removeAll { $0 === connection } } }

    /// Makes all connections send soon, because packets were added to their queues. May be called on any thread.
    /// Several calls in a row cause only one pass over the connections.
    func wake() {
        if wakes.raise() { executor.queue.async { self.serveAll() } }
    }

    /// Like ``wake()``, but at most two connections send at once, on the calling thread; more connections are only
    /// woken. If they send at once, the call waits for the work that is on the writer's queue; this work is short,
    /// never blocks, and needs no lock of a program.
    func serveAtOnce() {
        guard connections.withLock({ $0.count }) <= Self.mostServedAtOnce else { return wake() }
        if wakes.raise() { executor.queue.sync { serveAll() } }
    }

    private func serveAll() {
        wakes.lower()
        let now = clock.now
        let connections = connections.withLock { $0 }
        shared.withLock { $0.bursts.connections = connections.count }
        for connection in connections { connection.assumeIsolated { $0.serve(now: now) } }
    }
}

/// The few queues on which all RTMP outputs write.
///
/// With a queue for each output, each frame would cost one thread switch for each output. A single queue that never
/// blocks serves 400 outputs at 6 Mbit/s with an eighth of a CPU core. A second queue costs a tenth more, because both
/// compete for the same memory (both values were measured).
package final class RTMPWriterPool: Sendable {
    private let writers: [RTMPWriter]
    private let assigned = Atomic<Int>(0)

    /// Creates a pool of `count` writers.
    package init(count: Int = 1) {
        writers = (0..<max(1, count)).map { RTMPWriter(index: $0) }
    }

    /// The dispatch queues of the writers. Their work never blocks.
    package var queues: [DispatchQueue] { writers.map(\.executor.queue) }

    /// Returns the writer for the next connection. The writers take turns.
    func next() -> RTMPWriter {
        let turn = assigned.wrappingAdd(1, ordering: .relaxed).oldValue
        return writers[Int(UInt(bitPattern: turn) % UInt(writers.count))]
    }
}
