// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// A thread for encoders and decoders: its stack is as large as a main thread's, as x264 and libavcodec expect.
package enum MediaThread {
    private static let stackBytes = 8 << 20

    /// Runs `work` on a new thread called `name`. Returns at once.
    package static func start(_ name: String, _ work: @escaping @Sendable () -> Void) {
        let thread = Thread {
            BlockingWork.setName(name)
            work()
        }
        thread.stackSize = stackBytes
        thread.start()
    }
}
