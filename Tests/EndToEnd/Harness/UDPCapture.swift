// SPDX-License-Identifier: Apache-2.0

import TestSupport

/// Receives datagrams at a port of this machine, and stores their bytes.
final class UDPCapture: Sendable {
    private let task: Task<[UInt8], Never>
    /// The address to which the sender sends.
    let url: String

    init() throws {
        let socket = try LoopbackSocket()
        url = "udp://127.0.0.1:\(socket.port)"
        task = Task.detached {
            var bytes: [UInt8] = []
            while true {
                while let datagram = socket.receive() { bytes += datagram }
                if Task.isCancelled { return bytes }
                // The buffer of the socket can hold more than arrives in this time.
                try? await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    /// Returns all bytes that were received. Must be called after the sender has ended.
    func bytes() async -> [UInt8] {
        task.cancel()
        return await task.value
    }
}
