// SPDX-License-Identifier: Apache-2.0

package import Dispatch
internal import Media
internal import Synchronization

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
