// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import Media
package import NIOCore

extension TCPSocket {
    /// Duplicates the descriptor of `channel`; the socket outlives the channel. Runs on the channel's loop.
    package convenience init(copyOf channel: any Channel) throws(OutputFailure) {
        let copy = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { fcntl($0, F_DUPFD_CLOEXEC, 0) }
        guard let copy, copy >= 0 else { throw Self.exhausted() }
        self.init(owning: copy)
        setStreamOptions()
    }

    static func exhausted() -> OutputFailure {
        OutputFailure(.unreachable, step: "accept", reason: "no descriptor: \(message(errno))")
    }
}
