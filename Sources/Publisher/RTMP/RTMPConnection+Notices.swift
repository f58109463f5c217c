// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media
internal import RTMP

extension RTMPConnection {
    /// Passes on what the server says. On the writer's queue.
    func tell(_ message: RTMPStatusMessage) {
        switch notices.admit(at: SystemClock().now) {
        case .passed: report(.notice("the server says: \(message.words(masking: url))"))
        case .last: report(.notice("the server says more; further messages are left out"))
        case .leftOut: break
        }
        if message.isReconnectRequest, !wasAskedToMove {
            wasAskedToMove = true
            report(.reconnectRequested(address: message.address))
        }
    }
}
