// SPDX-License-Identifier: Apache-2.0

internal import Logging
package import Media
package import Publisher
package import RTMP
package import Segmenter

/// What all channels of a process share.
package struct HostResources: Sendable {
    /// The threads that write all RTMP outputs' media.
    package let writers = RTMPWriterPool()
    /// Where what clients cause is logged.
    let notices: ServerNotices
    /// Listens for those who publish to us and who play what is on air: one listener for each address and port.
    package let server: RTMPServer
    /// What recordings need of each file system.
    package let ledger = SpaceLedger()
    /// The clock that programs, outputs and recordings run by.
    package let clock: any MonotonicClock

    /// Resources that run by `clock`.
    package init(clock: any MonotonicClock = SystemClock()) {
        self.clock = clock
        let notices = ServerNotices(logger: Logger(label: "relay"), clock: clock)
        self.notices = notices
        server = RTMPServer { notices.tell($0) }
    }
}
