// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

extension Channel {
    /// Closes the connection in `time`, unless what is returned is cancelled before. May be called on any thread.
    @discardableResult
    func close(in time: TimeAmount) -> Scheduled<Void> {
        eventLoop.scheduleTask(in: time) { self.close(mode: .all, promise: nil) }
    }
}
