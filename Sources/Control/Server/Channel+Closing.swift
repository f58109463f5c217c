// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

extension Channel {
    /// Closes the connection after `time`, unless the returned task is cancelled before. Any thread may call it.
    @discardableResult
    func close(in time: TimeAmount) -> Scheduled<Void> {
        eventLoop.scheduleTask(in: time) { self.close(mode: .all, promise: nil) }
    }
}
