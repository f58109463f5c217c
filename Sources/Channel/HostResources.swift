// SPDX-License-Identifier: Apache-2.0

internal import Logging
package import Media
package import Publisher
package import RTMP
package import Segmenter

/// The resources that all channels of a process share.
package struct HostResources: Sendable {
    /// The threads that write the media of all RTMP outputs.
    package let writers = RTMPWriterPool()
    /// Logs events that clients cause, with a limit on their rate.
    let notices: ServerNotices
    /// Listens for clients that publish to relay or play from it, with one listener for each address and port.
    package let server: RTMPServer
    /// The space that recordings need on each file system.
    package let ledger = SpaceLedger()
    /// The memory that the queues of all recorders share, except those of second directories.
    let queues = QueueBudget()
    /// The memory that the queues of all recorders of second directories share. It is separate, so that media that
    /// waits for a disk that hangs does not take the memory of the recordings on the other disks.
    let secondQueues = QueueBudget()
    /// Compares second record directories with the first ones.
    let collisions: CollisionCheck
    /// The clock of all programs, outputs and recordings.
    package let clock: any MonotonicClock

    /// Creates resources that use `clock`.
    package init(clock: any MonotonicClock = SystemClock(), collisions: CollisionCheck = CollisionCheck()) {
        (self.clock, self.collisions) = (clock, collisions)
        let notices = ServerNotices(logger: Logger(label: "relay"), clock: clock)
        self.notices = notices
        server = RTMPServer(clock: clock, notice: { notices.tell($0) }, warning: { notices.warn($0) })
    }
}
